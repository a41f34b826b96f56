// ReduceWitness: what the properties of reductions are checked with (P6, P7; by their numbers in
// README.md). It keeps its own books of orders, versions and sums. A value type.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "planner/words.h"
#include "protocol/node_event.h"
#include "protocol/reduce_action.h"
#include "sim/planner_world/virtual_slot.h"

namespace hoplite::sim {

class ReduceWitness {
 public:
  explicit ReduceWitness(std::size_t wanted) : wanted_(wanted) {}

  void Told(const protocol::SlotAssign& order);
  void DirectoryRestarted();
  // A slot is final, and this is what it contains.
  void Final(const Version& version, Payload sum) { sums_[version] = sum; }
  Payload SumOf(const Version& version) const;

  // Checks what one plan of the directory says. This and the following answer with a broken
  // property in words, or nothing.
  std::string Check(const std::vector<planner::Action>& actions);
  bool was_committed(const Version& version) const { return commits_.contains(version); }
  // The committed target was lost with its holders, and may be made again.
  void TargetLost();
  bool target_was_lost() const { return target_was_lost_; }
  bool committed() const { return static_cast<bool>(committed_); }
  bool any_commit() const { return !commits_.empty(); }
  void AddTo(Digest& digest) const;
  // The longest path of the tree as it was ordered last.
  std::uint32_t Height() const;
  std::uint32_t Degree() const;

 private:
  std::string CheckAssigned(const protocol::SlotAssigned& assigned);
  std::string CheckCommitted(const protocol::ReduceCommitted& committed);

  std::size_t wanted_;
  std::map<std::uint32_t, std::uint32_t> parents_;
  std::map<std::uint32_t, Version> versions_;  // as given last
  std::map<std::uint32_t, bool> executed_;     // as ordered last: whether any node executes it
  // Slots that may start, again or for the first time, and whose nodes were not told so yet; a node
  // without a session is told later.
  std::set<std::uint32_t> may_start_;
  std::map<Version, Payload> sums_;
  Version committed_;  // in this life of the directory
  std::set<Version> commits_;
  bool target_was_lost_ = false;
};

}  // namespace hoplite::sim
