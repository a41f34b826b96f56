#include "node/memory/rooms.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/units.h"

namespace hoplite::node {
namespace {

constexpr std::uint64_t kMostBytes = 1_MiB;
constexpr std::uint64_t kMostOfAll = 16_MiB;
constexpr std::uint64_t kPartOfStore = 16;
constexpr std::uint64_t kAtLeast = 2;  // rooms in a small store
// An object that is there is answered long before.
constexpr Duration kKeptFor = std::chrono::milliseconds(100);

}  // namespace

Rooms::Limits Rooms::LimitsOf(std::uint64_t capacity_bytes) {
  const std::uint64_t all = std::min(kMostOfAll, capacity_bytes / kPartOfStore);
  return {.each = std::min(kMostBytes, all / kAtLeast), .all = all};
}

std::unique_ptr<Rooms::Room> Rooms::Take(Time now, std::function<void()> on_lost) {
  if (limits_.each == 0) return nullptr;
  if ((held_.size() + 1) * limits_.each > limits_.all) {
    const bool lasting = !held_.empty() && now - held_.begin()->second.since >= kKeptFor;
    if (!lasting || !GiveUpOldest()) return nullptr;
  }
  auto memory = store_.Reserve(limits_.each);
  if (!memory) return nullptr;
  held_.emplace(++taken_, Held{std::move(memory), now, std::move(on_lost)});
  return std::make_unique<Room>(*this, taken_);
}

bool Rooms::GiveUpOldest() {
  if (held_.empty()) return false;
  const std::function<void()> on_lost = held_.extract(held_.begin()).mapped().on_lost;
  on_lost();
  return true;
}

}  // namespace hoplite::node
