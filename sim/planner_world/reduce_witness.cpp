#include "sim/planner_world/reduce_witness.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::sim {

void ReduceWitness::Told(const protocol::SlotAssign& order) {
  parents_[order.order.slot] = order.order.root() ? 0 : order.order.parents.front();
  bool& executed = executed_[order.order.slot];
  const bool again = executed;
  executed = order.order.node != kNoNode;
  may_start_.insert(order.order.slot);
  for (std::uint32_t slot = order.order.slot; slot != 0;) {
    const auto parent = parents_.find(slot);
    slot = again && parent != parents_.end() ? parent->second : 0;
    may_start_.insert(slot);
  }
}

// If the answer to a commit was lost with the directory, perhaps nobody has heard of the commit.
void ReduceWitness::DirectoryRestarted() {
  TargetLost();
  versions_.clear();
  executed_.clear();
  may_start_.clear();
}

void ReduceWitness::TargetLost() {
  target_was_lost_ |= static_cast<bool>(committed_);
  committed_ = {};
}

Payload ReduceWitness::SumOf(const Version& version) const {
  const auto sum = sums_.find(version);
  return sum == sums_.end() ? 0 : sum->second;
}

std::string ReduceWitness::Check(const std::vector<planner::Action>& actions) {
  std::string broken;
  std::set<std::uint32_t> started;
  for (const planner::Action& action : actions) {
    if (!broken.empty()) break;
    if (const auto* assigned = std::get_if<protocol::SlotAssigned>(&action.body)) {
      broken = CheckAssigned(*assigned);
      started.insert(assigned->order.slot);
    } else if (const auto* committed = std::get_if<protocol::ReduceCommitted>(&action.body)) {
      broken = CheckCommitted(*committed);
    }
  }
  for (const std::uint32_t slot : started) may_start_.erase(slot);
  return broken;
}

std::string ReduceWitness::CheckAssigned(const protocol::SlotAssigned& assigned) {
  const std::uint32_t slot = assigned.order.slot;
  Version& last = versions_[slot];
  if (assigned.version == last) return {};  // repeated to a node that was away
  if (committed_) return fmt::format("P7: slot {} starts after the commit", slot);
  if (assigned.version < last) return fmt::format("P7: slot {} got an older version", slot);
  last = assigned.version;
  if (may_start_.contains(slot)) return {};
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
  if (sum != SumOf(committed.version)) {
    return "P6: the target is not the sum of its sources, each once";
  }
  return {};
}

void ReduceWitness::AddTo(Digest& digest) const {
  for (const auto& [slot, parent] : parents_) digest.Add(slot).Add(parent);
  for (const auto& [slot, version] : versions_) digest.Add(slot).Add(version);
  for (const auto& [slot, executed] : executed_) digest.Add(slot).Add(executed);
  for (const std::uint32_t slot : may_start_) digest.Add(slot);
  for (const auto& [version, sum] : sums_) digest.Add(version).Add(sum);
  for (const Version& version : commits_) digest.Add(version);
  digest.Add(committed_).Add(target_was_lost_);
}

std::uint32_t ReduceWitness::Height() const {
  std::map<std::uint32_t, std::uint32_t> depths;
  std::uint32_t height = 0;
  for (const auto& [slot, parent] : parents_) {
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = slot; at != 0 && !depths.contains(at);) {
      path.push_back(at);
      const auto above = parents_.find(at);
      at = above == parents_.end() ? 0 : above->second;
    }
    for (const std::uint32_t at : std::vector<std::uint32_t>(path.rbegin(), path.rend())) {
      const auto above = parents_.find(at);
      const bool below_another = above != parents_.end() && above->second != 0;
      depths[at] = below_another ? depths[above->second] + 1 : 0;
      height = std::max(height, depths[at]);
    }
  }
  return height;
}

std::uint32_t ReduceWitness::Degree() const {
  std::map<std::uint32_t, std::uint32_t> children;
  std::uint32_t most = 0;
  for (const auto& [slot, parent] : parents_) {
    if (parent != 0) most = std::max(most, ++children[parent]);
  }
  return most;
}

}  // namespace hoplite::sim
