// ShardWords: what a node does when a directory shard speaks, and when a session with one opens or
// ends.
//
// Decides: which flight, Put, coordinator or slot a word belongs to, and which copies go. Is told:
// actions of shards, the fate of sessions. Must never: drop a copy that its flight still fills, or
// believe what is said of a Create that was taken back. Main loop only.
#pragma once

#include <cstddef>

#include "node/core/context.h"
#include "node/drain/drainage.h"
#include "node/give/gives.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

class ShardWords {
 public:
  ShardWords(Context& context, DataPlane& data_plane, Gives& gives, Drainage& drainage)
      : context_(context), data_plane_(data_plane), gives_(gives), drainage_(drainage) {}

  void OnAction(const protocol::NodeAction& action);
  void OnSession(std::size_t shard, bool open);
  // This node was away for longer than the shard remembers Deletes: its copies may be of deleted
  // objects, and its reductions may have ended for those who waited for them.
  void OnOutlived(std::size_t shard);
  // It was lost for the shard, which knows nothing of its grants: its flights ask for new ones.
  void OnLost(std::size_t shard);

 private:
  static constexpr Version kAllVersions{{~std::uint64_t{0}, ~std::uint64_t{0}}};  // is above all

  void On(const protocol::CreateAccepted& accepted);
  void On(const protocol::CreateRefused& refused);
  void On(const protocol::Located& located);
  void On(const protocol::InlineObject& object);
  void On(const protocol::Grant& grant);
  void On(const protocol::Recall& recall);
  void On(const protocol::Deleted& deleted);
  void On(const protocol::EvictAnswer& answer);
  void On(const protocol::Location& location);
  void On(const protocol::HolderLost& lost);
  void On(const protocol::InlineFull& full);
  void On(const protocol::TakeCopy& word);
  void On(const protocol::GiveCopy& word);
  void On(const protocol::OwnerAnswer& answer);
  void On(const protocol::EverOwned& owned);
  void On(const protocol::Unowned& unowned);
  void On(const protocol::RegisterNews& news);
  void On(const protocol::ReduceOpened& opened) { ToCoordinator(opened); }
  void On(const protocol::ReduceRefused& refused) { ToCoordinator(refused); }
  void On(const protocol::SlotLost& lost) { ToCoordinator(lost); }
  void On(const protocol::ReduceCommitted& committed);
  void On(const protocol::SlotAssigned& assigned);
  void On(const protocol::SlotFeed& feed);
  void On(const protocol::SlotDropped& dropped);
  void On(const protocol::TargetAborted& aborted);

  void NoteEverOwned(const ObjectId& object);
  template <typename Word>
  void ToCoordinator(const Word& word);
  void DropCopies(ObjectEntry& entry, Version below, store::VoidReason reason, const Error& error);

  Context& context_;
  DataPlane& data_plane_;  // of slots
  Gives& gives_;
  Drainage& drainage_;
};

}  // namespace hoplite::node
