#include "cli/output_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <hoplite/object_id.h>

#include "base/try.h"
#include "cli/output.h"

namespace hoplite::cli {
namespace {

constexpr std::array kDeadlySignals{SIGINT, SIGTERM, SIGHUP};

// What the signal handler removes; a handler can't look into objects.
std::array<char, 4096> hidden_file{};

extern "C" void RemoveHiddenFileAndDie(int signal) {
  if (hidden_file[0] != '\0') ::unlink(hidden_file.data());
  ::raise(signal);  // SA_RESETHAND: the default action now
}

void RemoveOnSignal(const std::string& path) {
  hidden_file[path.copy(hidden_file.data(), hidden_file.size() - 1)] = '\0';
  struct sigaction action{};
  action.sa_handler = RemoveHiddenFileAndDie;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : kDeadlySignals) ::sigaction(signal, &action, nullptr);
}

void RemoveOnSignalNoMore() {
  for (const int signal : kDeadlySignals) std::signal(signal, SIG_DFL);
  hidden_file[0] = '\0';
}

// A name that nobody else has.
std::string HiddenPath(const std::string& path) {
  const std::filesystem::path target(path);
  const std::string ending = ObjectId::Random().ToHex().substr(0, 16);
  return target.parent_path() / ("." + target.filename().string() + "." + ending);
}

// How a descriptor is called where it can be given a name.
std::string OfProcess(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// -1: this file system has no such files, or they could not be named later.
FileDescriptor OpenNameless(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  FileDescriptor fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  struct stat named{};
  if (fd.get() >= 0 && ::stat(OfProcess(fd.get()).c_str(), &named) != 0) fd.Reset();
  return fd;
}

bool IsSpecialFile(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string hidden_path, FileDescriptor fd)
    : path_(std::move(path)), hidden_path_(std::move(hidden_path)), fd_(std::move(fd)) {}

Result<OutputFile> OutputFile::Open(const std::string& path) {
  if (path == "-" || IsSpecialFile(path)) {
    FileDescriptor fd(path == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.get() < 0) return std::unexpected(OutputError(path, "open"));
    return OutputFile(path, "", std::move(fd));
  }
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return std::unexpected(OutputError(path, "write"));
  }
  if (FileDescriptor fd = OpenNameless(path); fd.get() >= 0) {
    OutputFile file(path, "", std::move(fd));
    file.nameless_ = true;
    return file;
  }
  return OpenHidden(path);
}

Result<OutputFile> OutputFile::OpenHidden(const std::string& path) {
  std::string hidden = HiddenPath(path);
  if (hidden.size() >= hidden_file.size()) {
    errno = ENAMETOOLONG;
    return std::unexpected(OutputError(path, "write"));
  }
  RemoveOnSignal(hidden);  // before it is there: a signal may come at any moment
  FileDescriptor fd(::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) {
    const Error error = OutputError(path, "write");
    RemoveOnSignalNoMore();
    return std::unexpected(error);
  }
  return OutputFile(path, std::move(hidden), std::move(fd));
}

OutputFile::~OutputFile() {
  if (hidden_path_.empty()) return;
  ::unlink(hidden_path_.c_str());
  RemoveOnSignalNoMore();
}

Result<void> OutputFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return std::unexpected(OutputError(path_, "write"));
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return {};
}

// The file's blocks are allocated here, so that a full disk is an error now and not a signal later.
Result<FileMapping> OutputFile::Map(std::uint64_t size) {
  errno = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(size));
  if (errno != 0) return std::unexpected(OutputError(path_, "make room in"));
  void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (bytes == MAP_FAILED) return std::unexpected(OutputError(path_, "map"));
  return FileMapping({static_cast<std::byte*>(bytes), size});
}

FileMapping::~FileMapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<void> OutputFile::Resize(std::uint64_t size) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) == 0) return {};
  return std::unexpected(OutputError(path_, "resize"));
}

bool OutputFile::Restart() {
  return regular() && ::ftruncate(fd_.get(), 0) == 0 && ::lseek(fd_.get(), 0, SEEK_SET) == 0;
}

// No call replaces a file by one that has no name.
Result<void> OutputFile::Name() {
  std::string hidden = HiddenPath(path_);
  RemoveOnSignal(hidden);
  if (::linkat(AT_FDCWD, OfProcess(fd_.get()).c_str(), AT_FDCWD, hidden.c_str(),
               AT_SYMLINK_FOLLOW) != 0) {
    const Error error = OutputError(path_, "write");
    RemoveOnSignalNoMore();
    return std::unexpected(error);
  }
  hidden_path_ = std::move(hidden);
  nameless_ = false;
  return {};
}

Result<void> OutputFile::Commit() {
  if (nameless_) TRY(Name());
  if (hidden_path_.empty()) return {};
  if (std::rename(hidden_path_.c_str(), path_.c_str()) != 0) {
    return std::unexpected(OutputError(path_, "write"));
  }
  hidden_path_.clear();
  RemoveOnSignalNoMore();
  return {};
}

}  // namespace hoplite::cli
