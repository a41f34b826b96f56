#include "client/copy_forward.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/units.h"

namespace hoplite::client {
namespace {

constexpr std::uint64_t kChunk = 1_MiB;
constexpr std::uint64_t kTwoThreadsFrom = 8_MiB;
constexpr std::uint64_t kTellEvery = 4_MiB;

// Chunks are taken in order by whoever is free, so the copied prefix grows steadily.
class Copying {
 public:
  Copying(std::span<std::byte> to, std::span<const std::byte> from)
      : to_(to), from_(from), copied_((from.size() + kChunk - 1) / kChunk) {}

  // False when nothing is left to take.
  bool CopyOne() {
    const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= copied_.size()) return false;
    const std::uint64_t begin = chunk * kChunk;
    const std::uint64_t size = std::min(kChunk, from_.size() - begin);
    std::memcpy(to_.data() + begin, from_.data() + begin, size);
    copied_[chunk].store(true, std::memory_order_release);
    return true;
  }
  void Stop() { next_.store(copied_.size(), std::memory_order_relaxed); }

  // For the thread that tells.
  std::uint64_t Prefix() {
    while (prefix_ < copied_.size() && copied_[prefix_].load(std::memory_order_acquire)) ++prefix_;
    return std::min(prefix_ * kChunk, from_.size());
  }

 private:
  const std::span<std::byte> to_;
  const std::span<const std::byte> from_;
  std::atomic<std::size_t> next_{0};
  std::vector<std::atomic<bool>> copied_;
  std::size_t prefix_ = 0;
};

}  // namespace

void CopyForward(std::span<std::byte> to, std::span<const std::byte> from,
                 const std::function<bool(std::uint64_t prefix)>& on_prefix) {
  Copying copying(to, from);
  std::jthread second;
  if (from.size() >= kTwoThreadsFrom && std::thread::hardware_concurrency() > 1) {
    second = std::jthread([&copying] {
      while (copying.CopyOne()) {
      }
    });
  }
  std::uint64_t told = 0;
  while (copying.CopyOne()) {
    const std::uint64_t prefix = copying.Prefix();
    if (prefix < told + kTellEvery) continue;
    told = prefix;
    if (!on_prefix(prefix)) copying.Stop();
  }
}

}  // namespace hoplite::client
