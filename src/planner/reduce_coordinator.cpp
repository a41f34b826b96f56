#include "planner/reduce_coordinator.h"

#include <iterator>

namespace hoplite::planner {

bool ReduceCoordinator::Hear(const NodeAction& word, Time now, Events& say) {
  if (const auto* location = std::get_if<Location>(&word)) {
    On(*location, now);
  } else if (const auto* opened = std::get_if<ReduceOpened>(&word)) {
    if (opened->request == request_) On(*opened, say);
  } else if (const auto* refused = std::get_if<ReduceRefused>(&word)) {
    if (refused->request == request_) refused_ = Error(refused->code, refused->message);
  } else if (const auto* lost = std::get_if<SlotLost>(&word)) {
    if (lost->request == request_) planner_.OnSlotLost(*lost, now);
  } else if (const auto* committed = std::get_if<ReduceCommitted>(&word)) {
    if (committed->request == request_) committed_ = *committed;
  } else {
    return false;
  }
  return true;
}

void ReduceCoordinator::On(const Location& location, Time now) {
  const bool final = location.kind == LocationKind::kComplete || location.producing;
  if (final || location.kind == LocationKind::kInline) {
    holders_.emplace(location.object, location.node);
    planner_.OnHolder(location.object, location.node, location.version, location.layout,
                      location.metadata, now);
  } else {
    // Also what a node has in part: that it had all of another version may be the last we heard.
    OnHolderGone(location.object, location.node);
  }
}

void ReduceCoordinator::OnHolderGone(const ObjectId& source, NodeId node) {
  holders_.erase({source, node});
  planner_.OnHolderGone(source, node);
}

void ReduceCoordinator::ForgetHolders() {
  for (const auto& [source, node] : std::exchange(holders_, {})) {
    planner_.OnHolderGone(source, node);
  }
}

// Once more after each interrupted session. Only now does a shard that forgot take orders.
void ReduceCoordinator::On(const ReduceOpened& opened, Events& say) {
  opened_ = true;
  planner_.OnOpened(opened.link);
  std::vector<NodeEvent> orders = planner_.Orders();
  say.insert(say.end(), std::make_move_iterator(orders.begin()),
             std::make_move_iterator(orders.end()));
}

std::optional<Result<std::vector<ObjectId>>> ReduceCoordinator::Outcome() const {
  if (committed_) return committed_->used;
  if (refused_) return std::unexpected(*refused_);
  if (planner_.failure()) return std::unexpected(*planner_.failure());
  return std::nullopt;
}

std::optional<ReduceClose> ReduceCoordinator::Close(const Error* why) const {
  if (refused_) return std::nullopt;
  ReduceClose close{.object = target_, .request = request_};
  if (why != nullptr) {
    close.code = why->code;
    close.message = why->message;
  }
  return close;
}

}  // namespace hoplite::planner
