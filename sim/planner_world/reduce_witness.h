// ReduceWitness: what the properties of reductions are checked with (P6, P7; by their numbers in
// README.md). It keeps its own books of orders, versions and sums. A value type.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "planner/words/words.h"
#include "protocol/node_event.h"
#include "protocol/reduce_action.h"
#include "sim/planner_world/virtual_slot.h"

namespace hoplite::sim {

class ReduceWitness {
 public:
  ReduceWitness(std::size_t wanted, std::uint32_t stripes) : wanted_(wanted), stripes_(stripes) {}

  // What a node says to the directory, which listens to it.
  void Told(const protocol::NodeEvent& event);
  void DirectoryRestarted();
  // A stripe of a slot's output is final, and this is what it contains.
  void Final(const Version& version, std::uint32_t stripe, Payload sum) {
    sums_[{version, stripe}] = sum;
  }
  Payload SumOf(const Version& version, std::uint32_t stripe) const;

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
  // The longest path of any stripe, the most children of a slot, and the roots, as it was ordered
  // last.
  std::uint32_t Height() const;
  std::uint32_t Degree() const;
  std::uint32_t Roots() const;

 private:
  void On(const protocol::PlannedOrder& planned);
  void OnPlan(const protocol::ReduceOrders& orders);
  void MayStart(std::uint32_t slot, bool with_all_above);
  std::string CheckRoots(const std::map<std::uint32_t, Version>& roots) const;
  std::string CheckAssigned(const protocol::SlotAssigned& assigned);
  std::string CheckCommitted(const protocol::ReduceCommitted& committed);
  std::string CheckShape() const;
  std::string CheckShape(std::uint32_t stripe) const;
  // In this stripe: 0 if it is a root.
  std::uint32_t ParentOf(const protocol::SlotOrder& order, std::uint32_t stripe) const;
  std::uint32_t HeightIn(std::uint32_t stripe) const;

  std::size_t wanted_;
  std::uint32_t stripes_;
  // As ordered last: each slot, with the attempt; and the attempt of the whole plan, if it was
  // ordered as one.
  std::map<std::uint32_t, protocol::PlannedOrder> orders_;
  std::uint64_t plan_ = 0;
  std::map<std::uint32_t, Version> versions_;  // as given last
  // Slots that may start, again or for the first time, and whose nodes were not told so yet; a node
  // without a session is told later.
  std::set<std::uint32_t> may_start_;
  std::set<std::uint32_t> might_start_;  // the same of a plan that was replaced in this turn
  std::map<std::pair<Version, std::uint32_t>, Payload> sums_;  // by stripe
  Version committed_;                                          // in this life of the directory
  std::set<Version> commits_;
  bool target_was_lost_ = false;
};

}  // namespace hoplite::sim
