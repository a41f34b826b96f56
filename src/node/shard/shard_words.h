// ShardWords: what a node does when a directory shard speaks, and when a session with one opens or
// ends.
//
// Decides: which flight, Put, coordinator or slot a word belongs to, and which copies go. Is told:
// actions of shards, the fate of sessions. Must never: drop a copy that its flight still fills, or
// believe what is said of a Create that was taken back. Main loop only.
#pragma once

#include <cstddef>

#include "node/context.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

class ShardWords {
 public:
  ShardWords(Context& context, DataPlane& data_plane)
      : context_(context), data_plane_(data_plane) {}

  void OnAction(const planner::NodeAction& action);
  void OnSession(std::size_t shard, bool open);
  // This node was away for longer than the shard remembers Deletes: its copies may be of deleted
  // objects.
  void OnOutlived(std::size_t shard);
  // It was lost for the shard, which knows nothing of its grants: its flights ask for new ones.
  void OnLost(std::size_t shard);

 private:
  static constexpr Version kAllVersions{{~std::uint64_t{0}, ~std::uint64_t{0}}};  // is above all

  void On(const planner::CreateAccepted& accepted);
  void On(const planner::CreateRefused& refused);
  void On(const planner::Located& located);
  void On(const planner::InlineObject& object);
  void On(const planner::Grant& grant);
  void On(const planner::Recall& recall);
  void On(const planner::Deleted& deleted);
  void On(const planner::EvictAnswer& answer);
  void On(const planner::Location& location);
  void On(const planner::HolderLost& lost);
  void On(const planner::InlineFull& full);
  void On(const planner::ReduceOpened& opened) { ToCoordinator(opened); }
  void On(const planner::ReduceRefused& refused) { ToCoordinator(refused); }
  void On(const planner::SlotLost& lost) { ToCoordinator(lost); }
  void On(const planner::ReduceCommitted& committed);
  void On(const planner::SlotAssigned& assigned);
  void On(const planner::SlotFeed& feed);
  void On(const planner::SlotDropped& dropped);
  void On(const planner::TargetAborted& aborted);

  template <typename Word>
  void ToCoordinator(const Word& word);
  void DropCopies(ObjectEntry& entry, Version below, store::VoidReason reason, const Error& error);

  Context& context_;
  DataPlane& data_plane_;  // of slots
};

}  // namespace hoplite::node
