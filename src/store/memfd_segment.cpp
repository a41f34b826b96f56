#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/exhaustion.h"
#include "base/log.h"
#include "base/shared_mapping.h"
#include "base/text.h"
#include "base/try.h"
#include "base/units.h"
#include "store/available_memory.h"
#include "store/segment.h"

namespace hoplite::store {
namespace {

namespace ipc = boost::interprocess;

constexpr std::uint64_t kPopulatedAtOnce = 256_MiB;
// How much is populated between two looks at whether to stop: about 10 ms.
constexpr std::uint64_t kPopulateStep = 16_MiB;
// How much is asked for as huge pages at a time.
constexpr std::uint64_t kHugeStep = 64_MiB;
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

Error Exhausted(std::uint64_t wanted, std::uint64_t available) {
  return Error(ErrorCode::kResourceExhausted,
               fmt::format("shared memory of {} was asked for, {} are available",
                           FormatExactSize(wanted), FormatExactSize(available)));
}

Result<Descriptor> MakeMemfd(std::uint64_t bytes) {
  const std::uint64_t available = AvailableMemory();
  if (bytes > available) return std::unexpected(Exhausted(bytes, available));
  Descriptor memfd = Above2(::memfd_create("hoplite", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memfd.get() < 0) return std::unexpected(SystemError("memfd_create", errno));
  if (::ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0) {
    return std::unexpected(SystemError("its size", errno));
  }
  return memfd;
}

// As much as the kernel gives in huge pages, from the beginning on; small ones are left to Reserve.
// Huge pages are made seven times faster, and whoever copies or hashes them misses fewer addresses in
// the processor's tables. To collapse is to ask for them by name: unlike at a fault the machine's
// setting for shared memory does not count. There must be one small page to collapse.
void TakeHugePages(const Descriptor& memfd, const ipc::mapped_region& region) {
  auto* const begin = static_cast<std::byte*>(region.get_address());
  const std::uint64_t whole = region.get_size() / kHugePage * kHugePage;
  for (std::uint64_t at = 0; at < whole; at += kHugeStep) {
    const std::uint64_t end = std::min(at + kHugeStep, whole);
    for (std::uint64_t page = at; page < end; page += kHugePage) {
      if (::posix_fallocate(memfd.get(), static_cast<off_t>(page), 1) != 0) return;
    }
    if (::madvise(begin + at, end - at, kCollapse) != 0) return;
  }
}

// Sealed against truncation: a worker holds the descriptor too, and a shorter file would kill the
// node at its next touch.
Result<void> Reserve(const Descriptor& memfd, const ipc::mapped_region& region) {
  TakeHugePages(memfd, region);
  const std::uint64_t bytes = region.get_size();
  const int failure = ::posix_fallocate(memfd.get(), 0, static_cast<off_t>(bytes));
  if (failure == ENOSPC || failure == ENOMEM || failure == EFBIG) {
    return std::unexpected(Exhausted(bytes, AvailableMemory()));
  }
  if (failure != 0) return std::unexpected(SystemError("posix_fallocate", failure));
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return std::unexpected(SystemError("sealing its size", errno));
  }
  return {};
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
      : memfd_(std::move(memfd)), read_only_(std::move(read_only)), region_(std::move(region)) {
    Populate(std::min<std::uint64_t>(region_.get_size(), kPopulatedAtOnce), {});
    if (warm_ == kPopulatedAtOnce && region_.get_size() > kPopulatedAtOnce) {
      auto populator = StartThread<std::jthread>(
          [this](const std::stop_token& stop) { Populate(region_.get_size(), stop); });
      if (populator) {
        populator_ = *std::move(populator);
      } else {
        WarnOfTheRest(populator.error().message);
      }
    }
  }

  std::span<std::byte> bytes() override {
    return {static_cast<std::byte*>(region_.get_address()), region_.get_size()};
  }
  int descriptor() const override { return memfd_.get(); }
  int read_only_descriptor() const override { return read_only_.get(); }
  std::uint64_t warm_bytes() const override { return warm_; }

 private:
  void Populate(std::uint64_t until, const std::stop_token& stop) {
    while (warm_ < until && !stop.stop_requested()) {
      const std::uint64_t step = std::min(kPopulateStep, until - warm_);
      if (::madvise(bytes().data() + warm_, step, MADV_POPULATE_WRITE) != 0) {
        if (errno == EINTR) continue;
        return WarnOfTheRest(std::strerror(errno));
      }
      warm_ += step;
    }
  }

  // The memory is reserved all the same. Its pages are then made one by one as they are touched,
  // which is slower.
  void WarnOfTheRest(const std::string& why) {
    log::Warn("shared memory is not populated beyond {}: {}", FormatSize(warm_), why);
  }

  const Descriptor memfd_;
  const Descriptor read_only_;
  ipc::mapped_region region_;
  std::atomic<std::uint64_t> warm_{0};
  std::jthread populator_;  // last: stopped and joined before the mapping goes
};

}  // namespace

Result<std::unique_ptr<SharedSegment>> CreateMemfdSegment(std::uint64_t bytes) {
  if (bytes == 0) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, "shared memory of 0 bytes holds no object"));
  }
  TRY_ASSIGN(Descriptor memfd, MakeMemfd(bytes));
  TRY_ASSIGN(ipc::mapped_region region, Map(memfd, bytes));
  TRY(Reserve(memfd, region));
  TRY_ASSIGN(Descriptor read_only, ReopenReadOnly(memfd));
  return std::make_unique<MemfdSegment>(std::move(memfd), std::move(read_only), std::move(region));
}

}  // namespace hoplite::store
