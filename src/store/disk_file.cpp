#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"
#include "store/disk.h"
#include "store/disk_threads.h"

namespace hoplite::store {
namespace {

constexpr std::size_t kThreadsEachWay = 2;
// One call to the system: as much as keeps a disk busy, and little enough to see that it moves.
constexpr std::uint64_t kCallBytes = 2_MiB;
static_assert(kCallBytes >= Disk::kMostGathered);
// Through the page cache, so much may be written and not on the disk yet.
constexpr std::uint64_t kMostDirty = 8_MiB;

std::uint64_t WholePages(const Disk::Pieces& pieces) {
  std::uint64_t size = 0;
  for (const auto& piece : pieces) size += Disk::WholePages(piece.size());
  return size;
}

Error SystemError(const std::string& what, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return Error(full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
               fmt::format("{}: {}", what, std::strerror(number)));
}

// Memory of a thread for what does not begin and end on pages.
std::span<std::byte> Aligned() {
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  thread_local const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(Disk::kGranule, kCallBytes)));
  return {memory.get(), memory ? kCallBytes : 0};
}

bool OnPages(const std::byte* at, std::uint64_t size) {
  return reinterpret_cast<std::uintptr_t>(at) % Disk::kGranule == 0 && size % Disk::kGranule == 0;
}

// The open file, and what is done with it. Shared with the threads: one that hangs keeps it.
class File {
 public:
  File(int fd, bool direct) : fd_(fd), direct_(direct) {}
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Result<void> Write(std::uint64_t at, const Disk::Pieces& pieces) {
    TRY(Allocate(at, WholePages(pieces)));
    TRY(pieces.size() == 1 ? WriteLong(at, pieces.front()) : WriteGathered(at, pieces));
    if (!direct_ && ::fdatasync(fd_) != 0) return std::unexpected(SystemError("fdatasync", errno));
    return {};
  }

  Result<void> Read(std::uint64_t at, std::span<std::byte> into) {
    for (std::uint64_t done = 0; done < into.size(); done += kCallBytes) {
      TRY(ReadPiece(at + done, into.subspan(done, std::min(kCallBytes, into.size() - done))));
    }
    return {};
  }

  Result<void> Discard(Extent range) {
    constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    const int done =
        ::fallocate(fd_, kMode, static_cast<off_t>(range.offset), static_cast<off_t>(range.size));
    if (done == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return {};
    return std::unexpected(SystemError("fallocate", errno));
  }

  Time moved_at() const { return Time(Duration(moved_at_.load(std::memory_order_relaxed))); }

 private:
  // Says now that there is no room; where the file system can't, the write does.
  Result<void> Allocate(std::uint64_t at, std::uint64_t size) {
    int done = -1;
    do {
      done = ::fallocate(fd_, 0, static_cast<off_t>(at), static_cast<off_t>(size));
    } while (done != 0 && errno == EINTR);
    if (done == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return {};
    return std::unexpected(SystemError("fallocate", errno));
  }

  Result<void> WriteLong(std::uint64_t at, std::span<const std::byte> bytes) {
    std::uint64_t dirty = 0;
    for (std::uint64_t done = 0; done < bytes.size(); done += kCallBytes) {
      const auto piece = bytes.subspan(done, std::min(kCallBytes, bytes.size() - done));
      const bool straight = !direct_ || OnPages(piece.data(), piece.size());
      TRY(straight ? WriteAll(at + done, piece) : WriteGathered(at + done, {piece}));
      dirty += piece.size();
      if (!direct_ && dirty >= kMostDirty) {
        TRY(Settle(at + done + piece.size() - dirty, dirty));
        dirty = 0;
      }
    }
    return {};
  }

  // Through memory of the thread: what is no more than one call.
  Result<void> WriteGathered(std::uint64_t at, const Disk::Pieces& pieces) {
    const std::span<std::byte> pages = Aligned();
    const std::uint64_t size = WholePages(pieces);
    if (pages.size() < size) return std::unexpected(SystemError("write", ENOMEM));
    std::uint64_t end = 0;
    for (const auto& piece : pieces) {
      const auto to = pages.subspan(end, Disk::WholePages(piece.size()));
      std::ranges::copy(piece, to.begin());
      std::ranges::fill(to.subspan(piece.size()), std::byte{0});
      end += to.size();
    }
    return WriteAll(at, pages.first(size));
  }

  Result<void> WriteAll(std::uint64_t at, std::span<const std::byte> from) {
    for (std::uint64_t done = 0; done < from.size();) {
      const ssize_t wrote =
          ::pwrite(fd_, from.data() + done, from.size() - done, static_cast<off_t>(at + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return std::unexpected(SystemError("write", errno));
      if (wrote == 0) return std::unexpected(SystemError("write", EIO));
      done += static_cast<std::uint64_t>(wrote);
      Moved();
    }
    return {};
  }

  Result<void> ReadPiece(std::uint64_t at, std::span<std::byte> into) {
    const bool straight = !direct_ || OnPages(into.data(), into.size());
    const std::span<std::byte> pages = straight ? into : Aligned();
    if (pages.empty()) return std::unexpected(SystemError("read", ENOMEM));
    const std::uint64_t wanted = straight ? into.size() : Disk::WholePages(into.size());
    for (std::uint64_t done = 0; done < into.size();) {
      const ssize_t got =
          ::pread(fd_, pages.data() + done, wanted - done, static_cast<off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return std::unexpected(SystemError("read", errno));
      if (got == 0) return std::unexpected(SystemError("read", EIO));
      done += static_cast<std::uint64_t>(got);
      Moved();
    }
    if (!straight) std::ranges::copy(pages.first(into.size()), into.begin());
    return {};
  }

  // Waits until these are on the disk, so that the disk's rate is the writer's.
  Result<void> Settle(std::uint64_t at, std::uint64_t size) {
    constexpr unsigned kFlags =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    const int done =
        ::sync_file_range(fd_, static_cast<off_t>(at), static_cast<off_t>(size), kFlags);
    if (done == 0 || errno == ENOSYS || errno == ESPIPE) return {};
    return std::unexpected(SystemError("sync_file_range", errno));
  }

  void Moved() { moved_at_.store(Now().time_since_epoch().count(), std::memory_order_relaxed); }

  const int fd_;
  const bool direct_;
  std::atomic<Duration::rep> moved_at_{Time::min().time_since_epoch().count()};
};

class DiskFile final : public Disk {
 public:
  DiskFile(std::string folder, std::shared_ptr<File> file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  Result<void> Start() {
    TRY(writers_.Start(kThreadsEachWay, "disk/write"));
    return readers_.Start(kThreadsEachWay, "disk/read");
  }

  const std::string& folder() const override { return folder_; }
  void Write(std::uint64_t at, Pieces pieces, Done done) override {
    writers_.Add([file = file_, at, pieces = std::move(pieces), done = std::move(done)] {
      done(file->Write(at, pieces));
    });
  }
  void Read(std::uint64_t at, std::span<std::byte> into, Done done) override {
    readers_.Add([file = file_, at, into, done = std::move(done)] { done(file->Read(at, into)); });
  }
  void Discard(Extent range, Done done) override {
    writers_.Add([file = file_, range, done = std::move(done)] { done(file->Discard(range)); });
  }
  Time moved_at() const override { return file_->moved_at(); }

 private:
  const std::string folder_;
  const std::shared_ptr<File> file_;
  DiskThreads writers_;
  DiskThreads readers_;
};

Error Unusable(const std::string& folder, const std::string& why,
               ErrorCode code = ErrorCode::kInvalidArgument) {
  return Error(code, fmt::format("objects can't be written to {}: {}", folder, why));
}

// The folder is not to blame for these.
ErrorCode CodeOfOpen(int number) {
  const bool exhausted = number == EMFILE || number == ENFILE || number == ENOMEM;
  return exhausted ? ErrorCode::kResourceExhausted : ErrorCode::kInvalidArgument;
}

// Not where the file system has no files without a name: there one that loses it at once.
int OpenUnnamed(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string path = folder + "/hoplite-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

Result<void> RequireRoom(const std::string& folder, int fd, std::uint64_t promised_bytes) {
  struct statvfs disk{};
  if (::fstatvfs(fd, &disk) != 0) return {};
  const std::uint64_t size = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  if (size == 0 || promised_bytes <= size) return {};
  return std::unexpected(
      Unusable(folder, fmt::format("the limit of its nodes, {}, is above its disk of {}",
                                   FormatExactSize(promised_bytes), FormatExactSize(size))));
}

// What the file system says it can do may still fail.
bool WritesDirectly(int fd) {
  if (::fcntl(fd, F_SETFL, O_DIRECT) != 0) return false;
  File probe(::dup(fd), true);
  alignas(Disk::kGranule) std::array<std::byte, Disk::kGranule> page{};
  if (probe.Write(0, {page}) && probe.Read(0, page)) return true;
  ::fcntl(fd, F_SETFL, 0);
  return false;
}

}  // namespace

Result<std::shared_ptr<Disk>> OpenDisk(const std::string& folder, std::uint64_t promised_bytes) {
  const int fd = OpenUnnamed(folder);
  if (fd < 0) {
    const int number = errno;
    return std::unexpected(Unusable(folder, std::strerror(number), CodeOfOpen(number)));
  }
  const Result<void> room = RequireRoom(folder, fd, promised_bytes);
  const bool direct = room && WritesDirectly(fd);
  const auto file = std::make_shared<File>(fd, direct);
  TRY(room);
  alignas(Disk::kGranule) std::array<std::byte, Disk::kGranule> page{};
  if (const auto wrote = file->Write(0, {page}); !wrote) {
    return std::unexpected(Unusable(folder, wrote.error().message, wrote.error().code));
  }
  auto disk = std::make_shared<DiskFile>(folder, file);
  TRY(disk->Start());
  return disk;
}

}  // namespace hoplite::store
