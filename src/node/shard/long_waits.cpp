#include "node/shard/long_waits.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "node/pull/flight.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"

namespace hoplite::node {

std::string LongWaits::WhyWaits(const ObjectEntry& entry) const {
  if (entry.put_waits_for()) return WhyPutWaits(context_, entry);
  if (std::string why = WhyReductionWaits(entry); !why.empty()) return why;
  return entry.flight() ? entry.flight()->WaitingHere() : "";
}

void LongWaits::Tick() {
  std::set<ObjectId> waited;
  protocol::ToldWaits waits;
  for (const auto& [object, entry] : context_.table.entries()) {
    if (waited.size() == protocol::kMostWaits) break;
    const std::string why = WhyWaits(*entry);
    if (why.empty()) continue;
    waited.insert(object);
    if (!waited_.contains(object)) continue;
    waits.waits.push_back(
        {object, std::string(FirstBytes(why, protocol::kMostWaitBytes)), entry->put_name()});
  }
  waited_ = std::move(waited);
  const bool some = !waits.waits.empty();
  if (std::exchange(told_, some) || some) context_.directory.Send(waits);
}

}  // namespace hoplite::node
