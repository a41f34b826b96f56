#include "cli/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hoplite::cli {
namespace {

namespace fs = std::filesystem;

// Below /tmp whatever TMPDIR says: the path of a Unix socket may have 107 characters only.
constexpr const char* kWhere = "/tmp";
// Nobody else makes folders of this name: an empty one may be removed.
constexpr std::string_view kPrefix = "hoplite-cluster-";

// The descriptor that keeps it locked; none if it is another's, or was removed meanwhile.
FileDescriptor Lock(const fs::path& path, int how) {
  FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat locked{};
  struct stat named{};
  const bool is_ours = folder.get() >= 0 && ::flock(folder.get(), how) == 0 &&
                       ::fstat(folder.get(), &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
                       locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  return is_ours ? std::move(folder) : FileDescriptor();
}

void RemoveLeft() {
  std::error_code ignored;
  for (fs::directory_iterator entry(kWhere, ignored), end; entry != end; entry.increment(ignored)) {
    const fs::path path = entry->path();
    if (!path.filename().string().starts_with(kPrefix)) continue;
    const FileDescriptor lock = Lock(path, LOCK_EX | LOCK_NB);
    if (lock.get() >= 0) ::rmdir(path.c_str());
  }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::Make() {
  RemoveLeft();
  for (;;) {
    std::string path = fmt::format("{}/{}XXXXXX", kWhere, kPrefix);
    if (::mkdtemp(path.data()) == nullptr) {
      return std::unexpected(
          Error(ErrorCode::kUnavailable,
                fmt::format("can't make a folder below {}: {}", kWhere, std::strerror(errno))));
    }
    FileDescriptor lock = Lock(path, LOCK_EX);
    if (lock.get() >= 0) return PrivateFolder(path, std::move(lock));
    // Another process may have removed it before it was locked.
    if (fs::exists(path)) {
      return std::unexpected(Error(ErrorCode::kResourceExhausted,
                                   fmt::format("can't lock {}: {}", path, std::strerror(errno))));
    }
  }
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace hoplite::cli
