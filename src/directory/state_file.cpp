#include "directory/state_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/try.h"

namespace hoplite::directory {

namespace {

constexpr char kTitle[] = "hoplite directory state ";
constexpr char kFormat[] = "1";
constexpr char kInUse[] = "is in use by another directory";

std::string ToText(const std::string& owner, const ShardState& state) {
  const std::string text = fmt::format("{}{}\n{}\nid {:016x}\nincarnation {}\n", kTitle, kFormat,
                                       owner, state.id, state.incarnation);
  return fmt::format("{}checksum {:016x}\n", text, BlockChecksum(std::as_bytes(std::span(text))));
}

bool WriteAndSync(int file, const std::string& text) {
  errno = ENOSPC;  // what a short write means
  return ::ftruncate(file, 0) == 0 &&
         ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(file) == 0;
}

bool IsAt(const std::string& path, int file) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         std::pair(opened.st_dev, opened.st_ino) == std::pair(named.st_dev, named.st_ino);
}

}  // namespace

Result<StateFile> StateFile::Open(const std::string& path, const std::string& owner) {
  StateFile state;
  std::error_code failed;
  // What is replaced is the file itself, not a link to it.
  state.path_ = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  if (failed) state.path_ = path;
  state.owner_ = owner;
  TRY_ASSIGN(state.file_, state.OpenLocked(state.path_, O_RDONLY));
  if (state.file_.get() >= 0) {
    TRY_ASSIGN(state.kept_, state.Read());
  }
  return state;
}

Error StateFile::Bad(const std::string& what, ErrorCode code) const {
  return {code, fmt::format("state file '{}' {}", path_, what)};
}

Error StateFile::CantDo(const char* what) const {
  const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  return Bad(fmt::format("can't be {}: {}", what, std::strerror(errno)),
             full ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument);
}

// No descriptor: nothing lies there. Its user may replace the file before it is locked here.
Result<FileDescriptor> StateFile::OpenLocked(const std::string& path, int flags) const {
  for (;;) {
    FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600));
    const bool opened = file.get() >= 0;
    if (!opened && errno == ENOENT && flags == O_RDONLY) return file;
    if (!opened) return std::unexpected(CantDo(flags == O_RDONLY ? "opened" : "written"));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return std::unexpected(errno == EWOULDBLOCK ? Bad(kInUse, ErrorCode::kUnavailable)
                                                  : CantDo("locked"));
    }
    if (IsAt(path, file.get())) return file;
  }
}

Result<ShardState> StateFile::Read() const {
  struct stat info{};
  if (::fstat(file_.get(), &info) != 0) return std::unexpected(CantDo("read"));
  if (!S_ISREG(info.st_mode)) return std::unexpected(Bad("is no regular file"));
  if (info.st_uid != ::geteuid()) {
    return std::unexpected(Bad(fmt::format("belongs to user {}, and this directory runs as user {}",
                                           info.st_uid, ::geteuid())));
  }
  std::string text(4096, '\0');
  const ssize_t count = ::pread(file_.get(), text.data(), text.size(), 0);
  if (count < 0) return std::unexpected(CantDo("read"));
  text.resize(static_cast<std::size_t>(count));

  std::istringstream lines(text);
  std::string title;
  std::string owner;
  std::string word;
  ShardState state;
  std::getline(std::getline(lines, title), owner);
  lines >> word >> std::hex >> state.id >> word >> std::dec >> state.incarnation;
  if (title.starts_with(kTitle) && title != std::string(kTitle) + kFormat) {
    return std::unexpected(Bad(fmt::format("is of version '{}', this program knows {}",
                                           title.substr(std::strlen(kTitle)), kFormat)));
  }
  if (text != ToText(owner, state)) {
    return std::unexpected(
        Bad("is damaged. Without it the shard takes the id of the first node with objects"));
  }
  if (owner == owner_) return state;
  return std::unexpected(Bad(fmt::format("is of {}, this directory is of {}", owner, owner_)));
}

Result<void> StateFile::Write(const ShardState& state) {
  const std::string next = path_ + ".new";
  TRY_ASSIGN(FileDescriptor file, OpenLocked(next, O_WRONLY | O_CREAT));
  // Of two that start with no file the second may come here after the first's rename.
  if (file_.get() < 0 && ::access(path_.c_str(), F_OK) == 0) {
    return std::unexpected(Bad(kInUse, ErrorCode::kUnavailable));
  }
  if (!WriteAndSync(file.get(), ToText(owner_, state)) ||
      ::rename(next.c_str(), path_.c_str()) != 0) {
    const Error error = CantDo("written");
    ::unlink(next.c_str());
    return std::unexpected(error);
  }
  file_ = std::move(file);
  // Else the name may be the old file's again after a loss of power.
  const std::string parent = std::filesystem::path(path_).parent_path();
  const FileDescriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return std::unexpected(CantDo("synced"));
  return {};
}

}  // namespace hoplite::directory
