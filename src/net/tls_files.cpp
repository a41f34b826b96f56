#include "net/tls_files.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/units.h"

namespace hoplite::net {
namespace {

constexpr std::size_t kMostFileBytes = 64_KiB;

}  // namespace

Result<std::string> ReadSmallFile(const std::string& path, const std::string& what, Others others) {
  const auto bad = [&](const std::string& why) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("{} {}: {}", what, path, why)));
  };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return bad(std::strerror(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return bad(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return bad("is no regular file");
  if (others == Others::kNothing && (status.st_mode & S_IRWXO) != 0) {
    return bad(
        fmt::format("everybody on this host may use it: chmod 600 {}; or, where it is mounted so, "
                    "--readable-secrets",
                    path));
  }
  if (others == Others::kToldSo && (status.st_mode & S_IWOTH) != 0) {
    return bad(fmt::format("everybody on this host may write it: chmod o-w {}", path));
  }
  std::string content(kMostFileBytes + 1, '\0');
  const ssize_t got = ::read(file.get(), content.data(), content.size());
  if (got < 0) return bad(std::strerror(errno));
  if (static_cast<std::size_t>(got) > kMostFileBytes) return bad("is larger than 64 KiB");
  content.resize(static_cast<std::size_t>(got));
  return content;
}

}  // namespace hoplite::net
