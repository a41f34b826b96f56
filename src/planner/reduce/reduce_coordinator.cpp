#include "planner/reduce/reduce_coordinator.h"

#include <iterator>

namespace hoplite::planner {

void ReduceCoordinator::AskShardToFold(const ReduceOptions& options) {
  if (options.sources.size() > ShardFold::kMostSources) return;
  shard_fold_ = {options.sources, FoldOf(options, options.dtype), options.metadata, options.alike};
}

ReduceOpen ReduceCoordinator::Request() const {
  return {.object = target_, .request = request_, .shard_fold = shard_fold_};
}

ReduceCoordinator::SmallWay ReduceCoordinator::NextOfSmall() {
  if (!asks_shard()) return SmallWay::kFetch;
  const std::size_t wanted = shard_fold_.fold.sources;
  const std::size_t kept = planner_.Kept();
  const bool too_much = planner_.layout()->size_bytes * wanted > ShardFold::kMostBytes;
  const bool elsewhere = kept < wanted && planner_.Available().size() >= wanted;
  if (too_much || elsewhere) {
    shard_fold_ = {};
    return SmallWay::kFetch;
  }
  if (kept < wanted || std::exchange(asked_for_all_, true)) return SmallWay::kWait;
  return SmallWay::kAsk;
}

// A tree is what the shard can't make.
Time ReduceCoordinator::Plan(Time now, Events& say) {
  if (Outcome()) return kNever;
  const Time next = planner_.Plan(now, say);
  if (!say.empty()) shard_fold_ = {};
  return next;
}

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
    planner_.OnSite(location.node, location.site);
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

// Once more after each interrupted session. Only now does a shard that forgot take orders. If all
// sources were there for the shard to fold, it can't.
void ReduceCoordinator::On(const ReduceOpened& opened, Events& say) {
  opened_ = true;
  if (asked_for_all_) shard_fold_ = {};
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
