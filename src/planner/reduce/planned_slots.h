// PlannedSlots: the slots of one reduction as its coordinator plans them: who feeds whom,
// who executes what, which are vacant, which orders are to be said.
//
// Decides: which slots could be executed again without losing anything, and which vacant one
// is not needed any more if another slot takes a source more. Must never: change what the
// shard was told of a slot without its order being said again.
// What is said of looking for a place is about trees; by stripes (stripe_ring.h) nobody comes or goes.
// A value type. Searches look at a few slots only; where they don't find an answer, they say
// no.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "planner/reduce/reduce_sources.h"
#include "planner/words/words.h"

namespace hoplite::planner {

struct PlannedSlot {
  SlotOrder order;           // in a tree but for what follows from it: whom it feeds, what it makes
  std::uint32_t parent = 0;  // 0: the root, or no tree
  std::uint64_t attempt = 0;  // 0: never said
  Time said_at{};
  std::size_t share = 1;               // how many picks it stands for, itself and not its children
  std::vector<SourceIndex> picks;      // behind order.inputs
  std::vector<std::uint32_t> feeders;  // its children

  bool vacant() const { return order.node == kNoNode; }
  bool said() const { return attempt != 0; }
};

class PlannedSlots {
 public:
  // Vacant, of a share of 1. `parent` may be added later; Connect follows when all are there.
  std::uint32_t Add(std::uint32_t parent);
  // One more slot below this one, which has to be said again.
  std::uint32_t AddBelow(std::uint32_t parent);
  // The shape of a new tree, slots 1 to n; gives the root.
  std::uint32_t Build(std::uint32_t count, std::uint32_t degree);
  // A plan that is no tree: these orders, 1 to n, all to be said.
  void Build(std::vector<SlotOrder> orders);
  // A new root above the present one.
  std::uint32_t AddRoot(std::uint32_t above);
  // A new slot between this one and its parent, which only passes on. Neither was said.
  std::uint32_t AddAbove(std::uint32_t below);
  // Each takes what the other stands for. Neither was said.
  void Swap(std::uint32_t one, std::uint32_t other);

  PlannedSlot& at(std::uint32_t slot) { return all_[slot - 1]; }
  const PlannedSlot& at(std::uint32_t slot) const { return all_[slot - 1]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(all_.size()); }
  const std::vector<PlannedSlot>& all() const { return all_; }
  const std::set<std::uint32_t>& vacant() const { return vacant_; }
  // Executed there, in the order of their numbers.
  const std::set<std::uint32_t>& At(NodeId node) const;

  void Assign(std::uint32_t slot, NodeId node);
  void Vacate(std::uint32_t slot);
  void SayAgain(std::uint32_t slot) { unsaid_.insert(slot); }
  // Those whose order changed, what was said before first: sources that it gave up may be used by
  // others now.
  std::vector<std::uint32_t> TakeUnsaid();

  // A slot that starts again resets all above it. Nothing is lost by that: nobody has pulled
  // anything of it, and neither it nor any above it has pulled from its children, since below each
  // of those something is vacant.
  bool RestartsForFree(std::uint32_t slot) const;
  // None of its children can have produced anything.
  bool HasPulledNothing(std::uint32_t slot) const;
  // The highest vacant slot, never said, that has children, none of which can have produced
  // anything: sources that come one by one join it for free.
  std::optional<std::uint32_t> HighestWaiting() const;
  // With one source and no children, and not as the root, a node serves that source as it is.
  bool NeedsNoMemory(std::uint32_t slot) const;
  std::optional<std::uint32_t> LowestLeaf() const;  // vacant, and needs none
  // Takes a vacant slot that was never said out of the tree, since `joined`, which is said
  // again, takes a source more. False if there is none that changes nothing but that one's order.
  bool RemoveOneFor(std::uint32_t joined);

 private:
  bool SomethingIsVacant(std::uint32_t slot, int& looks) const;
  bool RemoveIfSpare(std::uint32_t slot, std::uint32_t joined);

  std::vector<PlannedSlot> all_;  // entry i is slot i + 1
  std::map<NodeId, std::set<std::uint32_t>> at_node_;
  std::set<std::uint32_t> vacant_;  // slots that need a node
  std::set<std::uint32_t> unsaid_;  // slots whose order changed
};

}  // namespace hoplite::planner
