#include "sim/node_world/sim_disk.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hoplite::node_world {
namespace {

constexpr Duration kSilence = std::chrono::seconds(2);

Error Failed(ErrorCode code, const char* what) { return {code, what}; }

}  // namespace

SimDisk::SimDisk(VirtualTime& time, const DiskOptions& options, std::uint64_t seed)
    : time_(time), options_(options), random_(seed) {}

bool SimDisk::Fails() { return random_.Below(100) < options_.fail_percent; }

void SimDisk::After(std::uint64_t bytes, std::function<void()> request) {
  if (closed_) return;
  const auto takes = Duration(std::chrono::seconds(1)) * bytes / options_.bytes_per_second;
  busy_until_ = std::max(busy_until_, time_.Now()) + takes + std::chrono::microseconds(100);
  const bool silent = random_.Below(100) < options_.silent_percent;
  const Time when = silent ? time_.Now() + random_.Within(kSilence) : busy_until_;
  requests_.emplace(++numbered_, Request{std::move(request), silent});
  Plan(numbered_, when);
}

void SimDisk::Plan(std::uint64_t number, Time when) {
  time_.At(when, [weak = weak_from_this(), number] {
    const auto self = weak.lock();
    if (!self) return;
    if (auto due = self->requests_.extract(number)) due.mapped().run();
  });
}

void SimDisk::EndFaults() {
  options_.fail_percent = options_.silent_percent = 0;
  for (const auto& [number, request] : requests_) {
    if (request.silent) Plan(number, time_.Now());
  }
}

void SimDisk::Close() {
  closed_ = true;
  std::exchange(requests_, {}).clear();
}

void SimDisk::Write(std::uint64_t at, Pieces pieces, Done done) {
  std::uint64_t size = 0;
  for (const auto& piece : pieces) size += WholePages(piece.size());
  After(size, [this, at, size, pieces = std::move(pieces), done = std::move(done)] {
    if (options_.room_bytes > 0 && at + size > options_.room_bytes) {
      return done(std::unexpected(Failed(ErrorCode::kResourceExhausted, "write: it is full")));
    }
    if (Fails()) return done(std::unexpected(Failed(ErrorCode::kUnavailable, "write: it failed")));
    if (bytes_.size() < at + size) bytes_.resize(at + size);
    auto to = bytes_.begin() + static_cast<std::ptrdiff_t>(at);
    for (const auto& piece : pieces) {
      std::ranges::copy(piece, to);
      to += static_cast<std::ptrdiff_t>(WholePages(piece.size()));
    }
    moved_at_ = time_.Now();
    ++writes_;
    done({});
  });
}

void SimDisk::Read(std::uint64_t at, std::span<std::byte> into, Done done) {
  After(into.size(), [this, at, into, done = std::move(done)] {
    if (Fails()) return done(std::unexpected(Failed(ErrorCode::kUnavailable, "read: it failed")));
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), into.size(), into.begin());
    moved_at_ = time_.Now();
    ++reads_;
    done({});
  });
}

// What is discarded is spoilt: nobody may read it again.
void SimDisk::Discard(store::Extent range, Done done) {
  After(0, [this, range, done = std::move(done)] {
    const auto begin = std::min<std::uint64_t>(range.offset, bytes_.size());
    const auto end = std::min<std::uint64_t>(range.end(), bytes_.size());
    std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes_.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0xdd});
    done({});
  });
}

}  // namespace hoplite::node_world
