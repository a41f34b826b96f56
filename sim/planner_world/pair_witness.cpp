#include "sim/planner_world/pair_witness.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace hoplite::sim {
namespace {

// A shard keeps the two apart for that long at first.
constexpr Duration kKept = std::chrono::seconds(1);
// A coordinator goes by a loss for that long.
constexpr Duration kPlannedFor = std::chrono::seconds(4);
// It goes round pairs in so many plans of one reduction; after that it only tries again.
constexpr int kMostLosses = 64;

bool Current(const std::map<std::pair<NodeId, NodeId>, Time>& until,
             const std::pair<NodeId, NodeId>& pair, Time now) {
  const auto found = until.find(pair);
  return found != until.end() && found->second > now;
}

}  // namespace

std::string NameOf(NodeId id) { return fmt::format("n{}", Raw(id) - 1); }

// --- the shard

void PairWitness::Told(const planner::EventBody& event, const planner::DirectoryState& shard,
                       Time now) {
  if (const auto* joined = std::get_if<planner::NodeJoined>(&event)) {
    alive_.insert(joined->node.id);
    return ForgetAll(joined->node.id);
  }
  if (const auto* suspended = std::get_if<planner::NodeSuspended>(&event)) {
    alive_.erase(suspended->node);
  }
  const auto* said = std::get_if<planner::NodeSaid>(&event);
  if (said == nullptr || !alive_.contains(said->node)) return;
  if (const auto* closed = std::get_if<protocol::GrantClosed>(&said->event)) {
    OnClosed(said->node, *closed, shard, now);
  } else if (const auto* failed = std::get_if<protocol::SlotFailed>(&said->event)) {
    if (failed->input != 0 && failed->code == ErrorCode::kUnavailable) {
      reporting_.insert(said->node);
    }
  } else if (std::holds_alternative<protocol::SlotDrained>(said->event)) {
    std::erase_if(kept_from_slots_,
                  [&](const auto& kept) { return kept.first.first == said->node; });
  } else if (const auto* orders = std::get_if<protocol::ReduceOrders>(&said->event)) {
    for (const auto& [attempt, planned] : orders->orders) nodes_[attempt] = planned.node;
  }
}

// One that the shard has taken back meanwhile tells it nothing.
void PairWitness::OnClosed(NodeId node, const protocol::GrantClosed& closed,
                           const planner::DirectoryState& shard, Time now) {
  const auto source = sources_.find(closed.grant);
  if (source == sources_.end()) return;
  const Pair pair{node, source->second};
  if (closed.outcome == protocol::Outcome::kDone) kept_from_slots_.erase(pair);
  if (closed.failure != protocol::Failure::kUnreachable || !alive_.contains(pair.second)) return;
  const auto view = shard.Find(closed.object);
  const bool open = view && std::ranges::any_of(view->transfers, [&](const auto& transfer) {
                      return transfer.grant == closed.grant;
                    });
  if (!open) return;
  kept_from_holders_[pair] = kept_from_slots_[pair] = now + kKept;
}

void PairWitness::DirectoryRestarted() {
  alive_.clear();
  kept_from_holders_.clear();
  kept_from_slots_.clear();
  reporting_.clear();
  nodes_.clear();
}

void PairWitness::ForgetAll(NodeId node) {
  std::erase_if(kept_from_slots_, [&](const auto& kept) {
    return kept.first.first == node || kept.first.second == node;
  });
}

std::string PairWitness::Check(const std::vector<planner::Action>& actions, Time now) {
  std::string broken;
  for (const planner::Action& action : actions) {
    if (!broken.empty()) break;
    if (const auto* grant = std::get_if<protocol::Grant>(&action.body)) {
      sources_[grant->grant] = grant->source.id;
      broken = CheckSent(kept_from_holders_, {action.to, grant->source.id}, now);
    } else if (const auto* feed = std::get_if<protocol::SlotFeed>(&action.body)) {
      broken = CheckSent(kept_from_slots_, {action.to, feed->source.id}, now);
    } else if (const auto* lost = std::get_if<protocol::SlotLost>(&action.body)) {
      OnLost(*lost, now);
    }
  }
  reporting_.clear();
  return broken;
}

// Only what was reported a moment ago begins a pause: the same may be said of a later plan.
void PairWitness::OnLost(const protocol::SlotLost& lost, Time now) {
  const auto source = nodes_.find(lost.attempt);
  if (!reporting_.contains(lost.receiver) || source == nodes_.end()) return;
  kept_from_slots_[{lost.receiver, source->second}] = now + kKept;
}

std::string PairWitness::CheckSent(const std::map<Pair, Time>& kept, const Pair& pair,
                                   Time now) const {
  if (!Current(kept, pair, now)) return {};
  return fmt::format("P12: {} is sent to {}, to which it could not connect a moment ago",
                     NameOf(pair.first), NameOf(pair.second));
}

// --- the coordinator

// A word about an older attempt changes nothing. One about a plan that has ended does, until the next
// one is said.
void PairWitness::CoordinatorHears(const protocol::NodeAction& word, Time now) {
  const auto* lost = std::get_if<protocol::SlotLost>(&word);
  if (lost == nullptr) return;
  const auto planned = planned_.find(lost->slot);
  if (planned == planned_.end() || planned->second.attempt != lost->attempt) return;
  ++losses_;
  const NodeId node = planned->second.order.node;
  if (lost->receiver == kNoNode) {
    failed_.insert(node);
    planned_.erase(planned);
    return;
  }
  const Pair pair{lost->receiver, node};
  if (!Blocked(pair, now)) blocked_[pair] = now + kPlannedFor;
  if (lost->third != kNoNode) thirds_.insert(lost->third);
}

// What is repeated to a shard that forgot it was decided when it was said first.
std::string PairWitness::CheckPlan(const std::vector<protocol::NodeEvent>& said, NodeId coordinator,
                                   Time now) {
  const std::uint64_t before = newest_;
  for (const protocol::NodeEvent& word : said) {
    const auto* orders = std::get_if<protocol::ReduceOrders>(&word);
    if (orders == nullptr) continue;
    if (orders->plan != 0) planned_.clear();
    for (const auto& [attempt, order] : orders->orders) OnOrder(attempt, order);
  }
  return CheckNeighbours(before, coordinator, now);
}

void PairWitness::OnOrder(std::uint64_t attempt, const protocol::SlotOrder& order) {
  planned_[order.slot] = {attempt, order};
  newest_ = std::max(newest_, attempt);
}

// In a plan by stripes nobody stands between two: a tree is another one where there is no other.
std::string PairWitness::CheckNeighbours(std::uint64_t newer_than, NodeId coordinator,
                                         Time now) const {
  if (losses_ >= kMostLosses) return {};
  const auto roots = std::ranges::count_if(
      planned_, [](const auto& planned) { return planned.second.order.root(); });
  for (const auto& [slot, planned] : planned_) {
    for (const std::uint32_t parent : planned.order.parents) {
      const auto above = planned_.find(parent);
      if (above == planned_.end()) continue;
      const bool old = std::max(planned.attempt, above->second.attempt) <= newer_than;
      const Pair pair{above->second.order.node, planned.order.node};
      if (old || !Blocked(pair, now)) continue;
      if (roots < 2 && !HasThird(pair, coordinator, now)) continue;
      return fmt::format("P12: {} is to fold what {} makes, to which it can't connect",
                         NameOf(pair.first), NameOf(pair.second));
    }
  }
  return {};
}

bool PairWitness::HasThird(const Pair& pair, NodeId coordinator, Time now) const {
  std::set<NodeId> thirds = thirds_;
  thirds.insert(coordinator);
  return std::ranges::any_of(thirds, [&](NodeId third) {
    const bool other = third != pair.first && third != pair.second && !failed_.contains(third);
    return other && !Blocked({pair.first, third}, now) && !Blocked({third, pair.second}, now);
  });
}

bool PairWitness::Blocked(const Pair& pair, Time now) const { return Current(blocked_, pair, now); }

void PairWitness::AddTo(Digest& digest) const {
  for (const auto& [pair, until] : kept_from_holders_) {
    digest.Add(pair.first).Add(pair.second).Add(until);
  }
  for (const auto& [pair, until] : kept_from_slots_) {
    digest.Add(pair.first).Add(pair.second).Add(until);
  }
  for (const auto& [pair, until] : blocked_) digest.Add(pair.first).Add(pair.second).Add(until);
  for (const NodeId node : thirds_) digest.Add(node);
  for (const NodeId node : failed_) digest.Add(node);
  for (const auto& [slot, planned] : planned_) {
    digest.Add(slot).Add(planned.attempt).Add(planned.order.node);
    for (const std::uint32_t parent : planned.order.parents) digest.Add(parent);
  }
}

}  // namespace hoplite::sim
