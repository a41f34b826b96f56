#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/shared_mapping.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"
#include "store/available_memory.h"
#include "store/segment.h"

namespace hoplite::store {
namespace {

namespace ipc = boost::interprocess;

// What a node is ready with.
constexpr std::uint64_t kReservedAtOnce = 64_MiB;
// How much is reserved between two looks at whether to stop: 30 ms, or 300 on a machine that has to
// fetch its own memory first.
constexpr std::uint64_t kStep = 64_MiB;
// Left to the process for itself while the rest is reserved.
constexpr std::uint64_t kKeptFree = 32_MiB;
constexpr int kCollapse = 25;  // MADV_COLLAPSE: Linux 6.1; older headers don't name it

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// In a program whose standard output is closed a new descriptor may be number 1: what the program
// prints would go over the objects.
Descriptor Above2(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return Descriptor(fd);
  const Descriptor low(fd);
  return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

// What Boost.Interprocess asks of something that can be mapped.
struct Mappable {
  int fd;
  ipc::mapping_handle_t get_mapping_handle() const { return {fd, false}; }
};

Error SystemError(const char* what, int number) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("shared memory: {}: {}", what, std::strerror(number)));
}

Error Exhausted(std::uint64_t wanted, const MemoryLimit& limit) {
  return Error(ErrorCode::kResourceExhausted,
               fmt::format("shared memory of {} was asked for, {} are available: {}",
                           FormatExactSize(wanted), FormatExactSize(limit.bytes), limit.whose));
}

Result<void> RequireWithin(std::uint64_t bytes, const MemoryLimit& limit) {
  if (bytes > limit.bytes) return std::unexpected(Exhausted(bytes, limit));
  return {};
}

Result<Descriptor> MakeMemfd(std::uint64_t bytes) {
  TRY(RequireWithin(bytes, AvailableMemory()));
  TRY(RequireWithin(bytes, LargestMapping()));
  Descriptor memfd = Above2(::memfd_create("hoplite", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memfd.get() < 0) return std::unexpected(SystemError("memfd_create", errno));
  if (::ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0) {
    return std::unexpected(SystemError("its size", errno));
  }
  return memfd;
}

int Allocate(const Descriptor& memfd, std::uint64_t offset, std::uint64_t bytes) {
  for (;;) {
    const int failure =
        ::posix_fallocate(memfd.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (failure != EINTR) return failure;
  }
}

// As much as the kernel gives in huge pages; small ones are left to Allocate. Huge pages are made
// seven times faster, and whoever copies or hashes them misses fewer addresses in the processor's
// tables. To collapse is to ask for them by name: unlike at a fault the machine's setting for shared
// memory does not count. There must be one small page to collapse.
void TakeHugePages(const Descriptor& memfd, std::byte* segment, std::uint64_t begin,
                   std::uint64_t end) {
  const std::uint64_t whole_end = end / kHugePage * kHugePage;
  for (std::uint64_t page = begin; page < whole_end; page += kHugePage) {
    if (Allocate(memfd, page, 1) != 0) return;
  }
  if (begin < whole_end) ::madvise(segment + begin, whole_end - begin, kCollapse);
}

// Against truncation: a worker holds the descriptor too, and a shorter file would kill the node at
// its next touch.
Result<void> SealSize(const Descriptor& memfd) {
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return {};
  return std::unexpected(SystemError("sealing its size", errno));
}

Result<Descriptor> ReopenReadOnly(const Descriptor& memfd) {
  const std::string path = fmt::format("/proc/self/fd/{}", memfd.get());
  Descriptor read_only = Above2(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (read_only.get() < 0) return std::unexpected(SystemError(path.c_str(), errno));
  return read_only;
}

Result<ipc::mapped_region> Map(const Descriptor& memfd, std::uint64_t bytes) {
  void* const room = RoomFor(bytes);
  try {
    ipc::mapped_region region(Mappable{memfd.get()}, ipc::read_write, 0, bytes, room,
                              room != nullptr ? MAP_FIXED : 0);
    // A child of fork would share the pages and keep them alive.
    if (::madvise(region.get_address(), bytes, MADV_DONTFORK) != 0) {
      return std::unexpected(SystemError("MADV_DONTFORK", errno));
    }
    return region;
  } catch (const ipc::interprocess_exception& e) {
    if (room != nullptr) ::munmap(room, bytes);
    return std::unexpected(
        Error(ErrorCode::kUnavailable,
              fmt::format("shared memory: mapping {}: {}", FormatExactSize(bytes), e.what())));
  }
}

class MemfdSegment final : public SharedSegment {
 public:
  MemfdSegment(Descriptor memfd, Descriptor read_only, ipc::mapped_region region)
      : memfd_(std::move(memfd)), read_only_(std::move(read_only)), region_(std::move(region)) {}

  std::span<std::byte> bytes() override {
    return {static_cast<std::byte*>(region_.get_address()), region_.get_size()};
  }
  int descriptor() const override { return memfd_.get(); }
  int read_only_descriptor() const override { return read_only_.get(); }
  std::uint64_t reserved_bytes() const override { return reserved_; }

  Result<void> ReserveMore() override {
    const std::uint64_t begin = reserved_;
    const std::uint64_t end = std::min<std::uint64_t>(begin + kStep, region_.get_size());
    if (begin > 0) TRY(RequireWithin(end - begin + kKeptFree, AvailableMemory()));
    TakeHugePages(memfd_, bytes().data(), begin, end);
    const int failure = Allocate(memfd_, begin, end - begin);
    if (failure == ENOSPC || failure == ENOMEM || failure == EFBIG) {
      return std::unexpected(Exhausted(end - begin, AvailableMemory()));
    }
    if (failure != 0) return std::unexpected(SystemError("posix_fallocate", failure));
    // Where the kernel refuses, pages are mapped as they are touched.
    ::madvise(bytes().data() + begin, end - begin, MADV_POPULATE_WRITE);
    reserved_ = end;
    return {};
  }

 private:
  const Descriptor memfd_;
  const Descriptor read_only_;
  ipc::mapped_region region_;
  std::atomic<std::uint64_t> reserved_{0};
};

}  // namespace

Result<std::unique_ptr<SharedSegment>> CreateMemfdSegment(std::uint64_t bytes) {
  if (bytes == 0) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, "shared memory of 0 bytes holds no object"));
  }
  TRY_ASSIGN(Descriptor memfd, MakeMemfd(bytes));
  TRY_ASSIGN(ipc::mapped_region region, Map(memfd, bytes));
  TRY(SealSize(memfd));
  TRY_ASSIGN(Descriptor read_only, ReopenReadOnly(memfd));
  auto segment =
      std::make_unique<MemfdSegment>(std::move(memfd), std::move(read_only), std::move(region));
  while (segment->reserved_bytes() < std::min(bytes, kReservedAtOnce)) {
    TRY(segment->ReserveMore());
  }
  return segment;
}

}  // namespace hoplite::store
