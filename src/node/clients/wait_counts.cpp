#include "node/clients/wait_counts.h"

#include <algorithm>

#include "node/pull/flight.h"
#include "node/pull/read_back.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"

namespace hoplite::node {
namespace {

bool SlotLacksMemory(const ObjectEntry& entry) {
  return std::ranges::any_of(
      entry.slots(), [](const auto& numbered) { return numbered.second.slot->waits_for_memory(); });
}

}  // namespace

// In the order in which ClientCalls::Missing looks.
WaitReason ReasonOf(const ObjectEntry& entry) {
  if (const auto& read = entry.read_back()) {
    return read->awaited_memory() ? WaitReason::kMemory : WaitReason::kBytes;
  }
  const auto& flight = entry.flight();
  if (flight && flight->copy()) return flight->wait_reason();
  if (const auto put = entry.publication()) {
    return put->accepted() ? WaitReason::kBytes : WaitReason::kShard;
  }
  if (entry.put_waits_for()) {
    return entry.withdrawal().open() ? WaitReason::kShard : WaitReason::kMemory;
  }
  if (SlotLacksMemory(entry)) return WaitReason::kMemory;
  if (entry.coordinator()) return entry.coordinator()->wait_reason();
  if (flight) return flight->wait_reason();
  return entry.target() ? WaitReason::kBytes : WaitReason::kShard;
}

bool AddWaits(const ObjectTable& table, WaitCounts& counts, std::optional<ObjectId>& behind,
              std::size_t most) {
  const auto& entries = table.entries();
  auto next = behind ? entries.upper_bound(*behind) : entries.begin();
  for (; next != entries.end() && most > 0; ++next, --most) {
    behind = next->first;
    const ObjectEntry& entry = *next->second;
    if (entry.waiting() == 0) continue;
    counts.at(static_cast<std::size_t>(ReasonOf(entry))) += entry.waiting();
  }
  return next != entries.end();
}

}  // namespace hoplite::node
