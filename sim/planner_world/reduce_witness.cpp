#include "sim/planner_world/reduce_witness.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace hoplite::sim {

void ReduceWitness::Told(const protocol::NodeEvent& event) {
  const auto* orders = std::get_if<protocol::ReduceOrders>(&event);
  if (orders == nullptr) return;
  if (orders->plan != 0) return OnPlan(*orders);
  for (const protocol::PlannedOrder& planned : orders->orders) On(planned);
}

void ReduceWitness::On(const protocol::PlannedOrder& planned) {
  const std::uint32_t slot = planned.order.slot;
  const auto known = orders_.find(slot);
  if (known != orders_.end() && planned.attempt < known->second.attempt) return;
  const bool again = known != orders_.end() && known->second.order.node != kNoNode;
  orders_[slot] = planned;
  MayStart(slot, again);
}

// One that is repeated may be news to a shard that has forgotten it.
void ReduceWitness::OnPlan(const protocol::ReduceOrders& orders) {
  if (orders.plan < plan_) return;
  plan_ = orders.plan;
  orders_.clear();
  might_start_.merge(std::exchange(may_start_, {}));
  for (const protocol::PlannedOrder& planned : orders.orders) {
    orders_[planned.order.slot] = planned;
    may_start_.insert(planned.order.slot);
  }
}

// Slots may feed each other in a circle, each stripe ends at a root.
void ReduceWitness::MayStart(std::uint32_t slot, bool with_all_above) {
  std::set<std::uint32_t> reached{slot};
  for (std::vector<std::uint32_t> next{slot}; with_all_above && !next.empty();) {
    const auto at = orders_.find(next.back());
    next.pop_back();
    if (at == orders_.end()) continue;
    for (const std::uint32_t parent : at->second.order.parents) {
      if (reached.insert(parent).second) next.push_back(parent);
    }
  }
  may_start_.merge(reached);
}

// If the answer to a commit was lost with the directory, perhaps nobody has heard of the commit.
void ReduceWitness::DirectoryRestarted() {
  TargetLost();
  versions_.clear();
  orders_.clear();
  plan_ = 0;
  may_start_.clear();
  might_start_.clear();
}

void ReduceWitness::TargetLost() {
  target_was_lost_ |= static_cast<bool>(committed_);
  committed_ = {};
}

Payload ReduceWitness::SumOf(const Version& version, std::uint32_t stripe) const {
  const auto sum = sums_.find({version, stripe});
  return sum == sums_.end() ? 0 : sum->second;
}

std::string ReduceWitness::Check(const std::vector<planner::Action>& actions) {
  std::string broken;
  std::set<std::uint32_t> started;
  std::map<std::uint32_t, Version> roots;  // the newest versions that they are told
  for (const planner::Action& action : actions) {
    if (!broken.empty()) break;
    if (const auto* assigned = std::get_if<protocol::SlotAssigned>(&action.body)) {
      const bool news = versions_[assigned->order.slot] != assigned->version;
      if (news && assigned->order.root()) roots[assigned->order.slot] = assigned->version;
      broken = CheckAssigned(*assigned);
      started.insert(assigned->order.slot);
    } else if (const auto* committed = std::get_if<protocol::ReduceCommitted>(&action.body)) {
      broken = CheckCommitted(*committed);
    }
  }
  for (const std::uint32_t slot : started) may_start_.erase(slot);
  might_start_.clear();
  return broken.empty() ? CheckRoots(roots) : broken;
}

// Of several plans in one turn the last one counts.
std::string ReduceWitness::CheckRoots(const std::map<std::uint32_t, Version>& roots) const {
  std::set<Version> targets;
  for (const auto& [slot, version] : roots) {
    const auto planned = orders_.find(slot);
    const bool counts = planned != orders_.end() && planned->second.order.root();
    if (counts) targets.insert(version);
  }
  return targets.size() > 1 ? "S7: two roots make two versions of the target" : "";
}

std::string ReduceWitness::CheckAssigned(const protocol::SlotAssigned& assigned) {
  const std::uint32_t slot = assigned.order.slot;
  Version& last = versions_[slot];
  if (assigned.version == last) return {};  // repeated to a node that was away
  if (committed_) return fmt::format("P7: slot {} starts after the commit", slot);
  if (assigned.version < last) return fmt::format("P7: slot {} got an older version", slot);
  last = assigned.version;
  if (may_start_.contains(slot) || might_start_.contains(slot)) return {};
  return fmt::format("P7: slot {} starts again although nothing of it, or below it, was lost",
                     slot);
}

std::string ReduceWitness::CheckCommitted(const protocol::ReduceCommitted& committed) {
  if (committed_ && committed_ != committed.version) return "P7: two versions are committed";
  committed_ = committed.version;
  commits_.insert(committed.version);
  if (committed.request == 0) return {};  // a repeated answer to a root, without the sources
  const std::set<ObjectId> used(committed.used.begin(), committed.used.end());
  if (used.size() != committed.used.size()) return "P6: a source is listed twice as used";
  if (used.size() != wanted_) {
    return fmt::format("P6: {} sources are used where {} are wanted", used.size(), wanted_);
  }
  Payload sum = 0;
  for (const ObjectId& source : used) sum += PayloadOf(source);
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    if (sum == SumOf(committed.version, s)) continue;
    return fmt::format("P6: stripe {} of the target is not the sum of its sources, each once", s);
  }
  return CheckShape();
}

// What was committed has one root in each stripe, and there is a way to it from everywhere.
std::string ReduceWitness::CheckShape() const {
  for (std::uint32_t s = 0; s < stripes_; ++s) {
    if (std::string broken = CheckShape(s); !broken.empty()) return broken;
  }
  return {};
}

std::string ReduceWitness::CheckShape(std::uint32_t stripe) const {
  std::uint32_t roots = 0;
  for (const auto& [slot, planned] : orders_) {
    const bool makes = (planned.order.stripes >> stripe & 1) != 0;
    if (!makes || planned.order.node == kNoNode) continue;
    roots += planned.order.root() ? 1 : 0;
    std::size_t steps = 0;
    for (std::uint32_t at = slot; at != 0; ++steps) {
      const auto known = orders_.find(at);
      if (known == orders_.end() || steps > orders_.size()) {
        return fmt::format("S4: stripe {} of slot {} comes to no root", stripe, slot);
      }
      at = ParentOf(known->second.order, stripe);
    }
  }
  if (roots == 1) return {};
  return fmt::format("S4: stripe {} has {} roots", stripe, roots);
}

std::uint32_t ReduceWitness::ParentOf(const protocol::SlotOrder& order,
                                      std::uint32_t stripe) const {
  for (const std::uint32_t parent : order.parents) {
    const auto above = orders_.find(parent);
    if (above == orders_.end()) return parent;
    if ((above->second.order.stripes >> stripe & 1) != 0) return parent;
  }
  return 0;
}

void ReduceWitness::AddTo(Digest& digest) const {
  for (const auto& [slot, planned] : orders_) {
    digest.Add(slot).Add(planned.attempt).Add(planned.order.node).Add(planned.order.stripes);
    for (const std::uint32_t parent : planned.order.parents) digest.Add(parent);
  }
  for (const auto& [slot, version] : versions_) digest.Add(slot).Add(version);
  for (const std::uint32_t slot : may_start_) digest.Add(slot);
  for (const std::uint32_t slot : might_start_) digest.Add(slot);
  for (const auto& [made, sum] : sums_) digest.Add(made.first).Add(made.second).Add(sum);
  for (const Version& version : commits_) digest.Add(version);
  digest.Add(plan_).Add(committed_).Add(target_was_lost_);
}

// The stripes of one root have one shape.
std::uint32_t ReduceWitness::Height() const {
  std::uint32_t height = 0;
  for (const auto& [slot, planned] : orders_) {
    const StripeMask makes = planned.order.stripes;
    if (!planned.order.root() || makes == 0) continue;
    height = std::max(height, HeightIn(static_cast<std::uint32_t>(std::countr_zero(makes))));
  }
  return height;
}

std::uint32_t ReduceWitness::HeightIn(std::uint32_t stripe) const {
  std::map<std::uint32_t, std::uint32_t> depths;
  std::uint32_t height = 0;
  for (const auto& [slot, planned] : orders_) {
    if ((planned.order.stripes >> stripe & 1) == 0) continue;
    std::vector<std::uint32_t> path;
    std::uint32_t at = slot;
    while (at != 0 && !depths.contains(at) && path.size() <= orders_.size()) {
      path.push_back(at);
      const auto known = orders_.find(at);
      at = known == orders_.end() ? 0 : ParentOf(known->second.order, stripe);
    }
    std::uint32_t depth = at == 0 ? 0 : depths[at] + 1;
    for (auto below = path.rbegin(); below != path.rend(); ++below) {
      height = std::max(height, depth);
      depths[*below] = depth++;
    }
  }
  return height;
}

std::uint32_t ReduceWitness::Degree() const {
  std::map<std::uint32_t, std::uint32_t> children;
  std::uint32_t most = 0;
  for (const auto& [slot, planned] : orders_) {
    for (const std::uint32_t parent : planned.order.parents) {
      most = std::max(most, ++children[parent]);
    }
  }
  return most;
}

std::uint32_t ReduceWitness::Roots() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      orders_, [](const auto& planned) { return planned.second.order.root(); }));
}

}  // namespace hoplite::sim
