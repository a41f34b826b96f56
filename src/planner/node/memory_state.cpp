#include "planner/node/memory_state.h"

#include <algorithm>

#include "base/units.h"

namespace hoplite::planner {
namespace {

// A window has so many bytes, but at most this part of a small store.
constexpr std::uint64_t kWindowBytes = 4_MiB;
constexpr std::uint64_t kWindowPart = 4;

}  // namespace

MemoryState::Place MemoryState::Enter(std::uint64_t bytes, const std::optional<ObjectId>& operation,
                                      std::uint64_t free_bytes) {
  const Place place = line_.Enter(bytes, free_bytes);
  operations_.emplace(place, operation);
  return place;
}

bool MemoryState::MayLook(Place place, Effects& out) {
  if (line_.MayLook(place)) return true;
  out.give_back = Spare(operations_.at(place));
  return false;
}

void MemoryState::Found(Place place, std::uint64_t free_bytes, Effects& out) {
  line_.Served(place);
  Leave(place, free_bytes, out);
}

void MemoryState::FoundNone(Place place, const std::vector<protocol::EvictAsk>& movable,
                            std::uint64_t free_bytes, Effects& out) {
  for (const protocol::EvictAsk& copy : movable) {
    if (asked_.insert(copy.object).second) out.ask.push_back(copy);
  }
  out.give_back = Spare(operations_.at(place));
  out.wake = line_.Failed(place, free_bytes);
}

void MemoryState::Leave(Place place, std::uint64_t free_bytes, Effects& out) {
  operations_.erase(place);
  out.wake = line_.Leave(place, free_bytes);
}

std::uint64_t MemoryState::Lends(Lender& lender) {
  lenders_.emplace(lent_, &lender);
  return lent_++;
}

MemoryState::Lender* MemoryState::Spare(const std::optional<ObjectId>& operation) const {
  const auto found = std::ranges::find_if(
      lenders_, [&](const auto& lender) { return lender.second->Spares(operation); });
  return found == lenders_.end() ? nullptr : found->second;
}

MemoryState::Fate MemoryState::On(const protocol::EvictAnswer& answer,
                                  const std::optional<Version>& present) {
  asked_.erase(answer.object);
  if (present != answer.version) return Fate::kNone;
  return answer.drop ? Fate::kGoes : Fate::kStays;
}

bool MemoryState::hoarded() const {
  return std::ranges::any_of(operations_, [this](const auto& waiting) {
    return waiting.second && Spare(waiting.second) != nullptr;
  });
}

std::uint64_t MemoryState::WindowBytes(const Layout& layout, std::uint64_t capacity_bytes) {
  const std::uint64_t bytes = std::min(kWindowBytes, capacity_bytes / kWindowPart);
  return std::max<std::uint64_t>(bytes / layout.block_bytes, 1) * layout.block_bytes;
}

}  // namespace hoplite::planner
