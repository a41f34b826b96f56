#include "client/copy_forward.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "base/divide.h"
#include "base/exhaustion.h"
#include "base/units.h"

namespace hoplite::client {
namespace {

constexpr std::uint64_t kChunk = 256_KiB;  // source and destination fit into a core's own cache
constexpr std::uint64_t kTwoThreadsFrom = 8_MiB;
constexpr std::uint64_t kTellEvery = 4_MiB;

// Chunks are taken in order by whoever is free, so the copied prefix grows steadily.
class Copying {
 public:
  Copying(std::span<std::byte> to, const Pieces& from, std::uint32_t block_bytes,
          const std::atomic<bool>* stop)
      : to_(to),
        from_(from),
        block_bytes_(block_bytes),
        chunk_bytes_(std::max<std::uint64_t>(kChunk, block_bytes)),
        stop_(stop),
        checksums_(DivideUp(from.size(), block_bytes)),
        copied_(DivideUp(from.size(), chunk_bytes_)) {}

  // False when nothing is left to take, or nobody wants it.
  bool CopyOne() {
    if (stop_ != nullptr && *stop_) return false;
    const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= copied_.size()) return false;
    const std::uint64_t begin = chunk * chunk_bytes_;
    const std::uint64_t end = std::min(begin + chunk_bytes_, from_.size());
    from_.CopyTo(to_.subspan(begin, end - begin), begin);
    for (std::uint64_t at = begin; at < end; at += block_bytes_) {
      const std::span block = to_.subspan(at, std::min<std::uint64_t>(block_bytes_, end - at));
      checksums_[at / block_bytes_] = BlockChecksum(block);
    }
    copied_[chunk].store(true, std::memory_order_release);
    return true;
  }
  void Stop() { next_.store(copied_.size(), std::memory_order_relaxed); }

  // Only the thread that tells calls the rest.

  // The copied prefix, if it is worth telling: `least` bytes longer than what was told.
  bool Tell(std::uint64_t least, const OnPrefix& on_prefix) {
    while (prefix_ < copied_.size() && copied_[prefix_].load(std::memory_order_acquire)) ++prefix_;
    const std::uint64_t prefix = std::min<std::uint64_t>(prefix_ * chunk_bytes_, from_.size());
    if (prefix < told_ + least) return true;
    const std::uint64_t first = told_ / block_bytes_;
    told_ = prefix;
    return on_prefix(prefix,
                     std::span(checksums_).subspan(first, DivideUp(prefix, block_bytes_) - first));
  }

 private:
  const std::span<std::byte> to_;
  const Pieces& from_;
  const std::uint64_t block_bytes_;
  const std::uint64_t chunk_bytes_;
  const std::atomic<bool>* const stop_;
  std::vector<std::uint64_t> checksums_;  // of a block: written before its chunk is `copied_`
  std::atomic<std::size_t> next_{0};
  std::vector<std::atomic<bool>> copied_;
  std::size_t prefix_ = 0;  // chunks
  std::uint64_t told_ = 0;  // bytes
};

}  // namespace

void CopyForward(std::span<std::byte> to, const Pieces& from, std::uint32_t block_bytes,
                 const OnPrefix& on_prefix, const std::atomic<bool>* stop) {
  Copying copying(to, from, block_bytes, stop);
  bool wanted = true;
  {
    std::jthread second;
    if (from.size() >= kTwoThreadsFrom && std::thread::hardware_concurrency() > 1) {
      auto started = StartThread<std::jthread>([&copying] {
        while (copying.CopyOne()) {
        }
      });
      if (started) second = *std::move(started);  // otherwise this thread copies all of it
    }
    while (wanted && copying.CopyOne()) wanted = copying.Tell(kTellEvery, on_prefix);
    copying.Stop();
  }
  if (wanted) copying.Tell(1, on_prefix);
}

}  // namespace hoplite::client
