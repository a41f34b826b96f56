#include "node/pull/take_copy.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "node/pull/flight.h"

namespace hoplite::node {
namespace {

bool IsNeeded(Context& context, const ObjectEntry& entry) {
  const bool made_here = entry.publication() || entry.target();
  const bool there = entry.flight() || context.store.Find(entry.object);
  return !made_here && !there && !entry.deleted(Now());
}

}  // namespace

net::Task<void> TakeCopy(Context& context, DataPlane& data_plane, EntryPtr entry) {
  if (!IsNeeded(context, *entry)) co_return;
  const auto call = std::make_shared<Call>(context.runtime.main());
  WaitingCall waiting(entry, call);
  const auto flight = std::make_shared<Flight>(context, data_plane, entry);
  entry->Begin(flight);
  const Flight::Interest interest(flight);
  flight->Start();
  std::uint64_t had = 0;
  call->deadline = Now() + protocol::TakeCopy::kPatience;
  while (!flight->done()) {
    if (co_await waiting.Wait()) continue;
    if (flight->bytes() == std::exchange(had, flight->bytes())) break;
    call->deadline = Now() + protocol::TakeCopy::kPatience;
  }
}

}  // namespace hoplite::node
