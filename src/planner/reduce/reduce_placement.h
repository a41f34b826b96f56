// ReducePlacement: which source takes which slot of a plan, and who folds for a node that can't.
//
// Decides: whether the plan is by stripes, in a ring (R64) or two trees, or one tree, and of which
// degree; who executes which slot (R29, R30, R45). Is told: the sources, the nodes, what links are
// like. Must never: use a source twice, or move what the shard was told.
// It lives for one look at a plan, to which it writes, as to which sources are taken and which nodes
// are asked for memory once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <hoplite/reduce.h>

#include "planner/reduce/reduce_peers.h"
#include "planner/reduce/reduce_plan.h"
#include "planner/reduce/reduce_sources.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// How many sources count.
std::size_t WantedOf(const ReduceOptions& options);

class ReducePlacement {
 public:
  // `self` is the coordinator's node. All outlive it.
  ReducePlacement(const ReduceOptions& options, NodeId self, const Layout& layout,
                  const LinkModel& link, ReduceSources& sources, ReducePeers& peers,
                  ReducePlan& plan)
      : options_(options),
        wanted_(WantedOf(options)),
        self_(self),
        layout_(layout),
        link_(link),
        sources_(sources),
        peers_(peers),
        plan_(plan),
        slots_(plan.slots) {}

  // --- a new plan
  // By stripes; false: a tree is better.
  bool PlanStripes(StripePlans allowed);
  void PlanTree();

  // Vacant slots, with sources that are ready.
  void Fill();

 private:
  // By stripes.
  std::optional<StripeShape> ShapeFor(std::size_t members, StripePlans allowed) const;
  // A tree.
  void BuildTree(std::uint32_t count);
  void PinRoot(const std::vector<ReduceMember>& members);
  void FillFixed(SourceIndex source);
  void FillFolders();
  bool Join(SourceIndex source);
  bool JoinOneThat(SourceIndex source, bool is_fed);
  bool MayJoin(std::uint32_t slot) const;
  void FillOne(SourceIndex source);
  NodeId FolderFor(std::uint32_t slot, NodeId node) const;
  std::uint32_t VacantFor(NodeId node) const;
  std::uint32_t NextVacant() const;
  void Place(std::uint32_t slot, const ReduceMember& member);
  void TakePick(std::uint32_t slot, SourceIndex pick);
  // Who is picked.
  std::vector<SourceIndex> FirstReady(std::size_t count) const;
  std::vector<ReduceMember> MembersOf(const std::vector<SourceIndex>& picks) const;
  std::vector<ReduceMember> InRingOrder(std::vector<ReduceMember> members) const;
  NodeId NodeFor(SourceIndex source) const;
  ReduceMember PicksHere(std::size_t count) const;

  const ReduceOptions& options_;
  const std::size_t wanted_;
  const NodeId self_;
  const Layout& layout_;
  const LinkModel& link_;
  ReduceSources& sources_;
  ReducePeers& peers_;
  ReducePlan& plan_;
  PlannedSlots& slots_;  // the plan's
};

}  // namespace hoplite::planner
