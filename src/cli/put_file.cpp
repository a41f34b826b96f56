#include "cli/put_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"
#include "cli/progress_bar.h"

namespace hoplite::cli {
namespace {

constexpr std::uint64_t kPiece = 1_MiB;

Error InputError(const std::string& path, const char* what) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
  const char* const why = errno == EBADF ? "it is closed" : std::strerror(errno);
  return {code, path == "-" ? fmt::format("can't {} standard input: {}", what, why)
                            : fmt::format("can't {} '{}': {}", what, path, why)};
}

Result<FileDescriptor> OpenInput(const std::string& path) {
  const int fd = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(InputError(path, "open"));
  return FileDescriptor(fd);
}

// Files below /proc and /sys are made as they are read: their size is 0 or a guess.
bool MadeAsItIsRead(int fd) {
  struct statfs system{};
  if (::fstatfs(fd, &system) != 0) return false;
  constexpr std::array<std::uint64_t, 2> kMade{PROC_SUPER_MAGIC, SYSFS_MAGIC};
  return std::ranges::find(kMade, static_cast<std::uint64_t>(system.f_type)) != kMade.end();
}

// How many bytes follow; none if that is known only at their end.
Result<std::optional<std::uint64_t>> KnownSize(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::unexpected(InputError(path, "look at"));
  if (!S_ISREG(info.st_mode) || info.st_size == 0 || MadeAsItIsRead(fd)) return std::nullopt;
  const off_t position = ::lseek(fd, 0, SEEK_CUR);
  return static_cast<std::uint64_t>(std::max<off_t>(info.st_size - position, 0));
}

// At most into.size() bytes; 0 at the end.
Result<std::size_t> ReadSome(int fd, std::span<std::byte> into, const std::string& path) {
  for (;;) {
    const ssize_t count = ::read(fd, into.data(), into.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return std::unexpected(InputError(path, "read"));
  }
}

// Memory that is filled from its beginning.
class Piece {
 public:
  explicit Piece(std::size_t room)
      : bytes_(std::make_unique_for_overwrite<std::byte[]>(room)), room_(room) {}
  std::span<std::byte> rest() const { return {bytes_.get() + used_, room_ - used_}; }
  std::span<const std::byte> filled() const { return {bytes_.get(), used_}; }
  void Fill(std::size_t bytes) { used_ += bytes; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t room_;
  std::size_t used_ = 0;
};

struct Pieces {
  std::vector<Piece> all;
  std::uint64_t bytes = 0;

  // Where to read on. A new one has half the bytes that are there: so there are few.
  Piece& Next() {
    if (all.empty() || all.back().rest().empty()) all.emplace_back(std::max(kPiece, bytes / 2));
    return all.back();
  }
};

// The memory that the client's node has for objects.
Result<std::uint64_t> MemoryOfNode(Client& client, const Deadline& deadline) {
  TRY_ASSIGN(const ClusterStatus status,
             client.Status({.timeout = deadline.left()}, /*max_objects=*/0));
  const auto node = std::ranges::find(status.nodes, client.node_name(), &NodeStatus::name);
  if (node != status.nodes.end()) return node->memory_bytes;
  return std::unexpected(
      Error(ErrorCode::kUnavailable,
            fmt::format("node '{}' does not say how much memory it has", client.node_name())));
}

Error TooLong(const std::string& path, std::uint64_t room, const Client& client) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("{} has more than the {} that node '{}' has for objects; it was not read to "
                      "its end",
                      path == "-" ? "standard input" : fmt::format("'{}'", path),
                      FormatExactSize(room), client.node_name())};
}

// A node that has no room for it is asked before much was read.
Result<Pieces> ReadToEnd(Client& client, int fd, const std::string& path,
                         const Deadline& deadline) {
  Pieces read;
  std::uint64_t most = kPiece;
  ProgressBar progress("put", std::nullopt, fd);
  for (;;) {
    Piece& piece = read.Next();
    TRY_ASSIGN(const std::size_t count, ReadSome(fd, piece.rest(), path));
    if (count == 0) return read;
    piece.Fill(count);
    read.bytes += count;
    progress.Update(read.bytes);
    if (read.bytes > most && most == kPiece) {
      TRY_ASSIGN(most, MemoryOfNode(client, deadline));
    }
    if (read.bytes > most) return std::unexpected(TooLong(path, most, client));
  }
}

Result<std::uint64_t> PutToEnd(Client& client, const PutOptions& options, int fd,
                               const std::string& path, const Deadline& deadline) {
  TRY_ASSIGN(const Pieces read, ReadToEnd(client, fd, path, deadline));
  std::vector<std::span<const std::byte>> bytes;
  for (const Piece& piece : read.all) bytes.push_back(piece.filled());
  TRY(client.Put(bytes, {.id = options.id, .dtype = options.dtype, .timeout = deadline.left()}));
  return read.bytes;
}

Result<void> Fill(Draft& draft, int fd, const std::string& path) {
  ProgressBar progress("put", draft.data().size());
  for (std::uint64_t done = 0; done < draft.data().size();) {
    const std::uint64_t wanted = std::min(kPiece, draft.data().size() - done);
    TRY_ASSIGN(const std::size_t count, ReadSome(fd, draft.data().subspan(done, wanted), path));
    if (count == 0) {
      return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                   fmt::format("'{}' became shorter while it was read", path)));
    }
    done += count;
    TRY(draft.Advance(done));
    progress.Update(done);
  }
  return {};
}

}  // namespace

Result<std::uint64_t> PutFile(Client& client, const PutOptions& options, const std::string& path,
                              const Deadline& deadline) {
  TRY_ASSIGN(const FileDescriptor input, OpenInput(path));
  TRY_ASSIGN(const auto size, KnownSize(input.get(), path));
  if (!size) return PutToEnd(client, options, input.get(), path, deadline);
  TRY_ASSIGN(Draft draft, client.Create(options.id, *size,
                                        {.dtype = options.dtype, .timeout = deadline.left()}));
  TRY(Fill(draft, input.get(), path));
  TRY(draft.Seal(deadline.left()));
  return *size;
}

}  // namespace hoplite::cli
