// Core: what a node does for its clients, and what it does when a directory shard speaks.
//
// Decides: which flight or Put an action belongs to; what a waiting client is answered. Is told:
// operations of clients, actions of shards. Must never: let a Get return a copy that is not final,
// or anything a deleted object. Main loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/context.h"
#include "node/operations.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

class Core final : public Operations {
 public:
  Core(Context& context, DataPlane& data_plane) : context_(context), data_plane_(data_plane) {}

  // --- Operations ---
  net::Task<Result<std::shared_ptr<Draft>>> Create(ObjectId object, std::uint64_t size_bytes,
                                                   std::string metadata, CallPtr call) override;
  net::Task<Result<store::CopyPtr>> Get(ObjectId object, CallPtr call) override;
  net::Task<Result<store::CopyPtr>> Open(ObjectId object, CallPtr call) override {
    return Follow(object, std::move(call), false);
  }
  net::Task<Result<store::CopyPtr>> OpenWindow(ObjectId object, CallPtr call) override {
    return Follow(object, std::move(call), true);
  }
  net::Task<Result<ReduceOutcome>> Reduce(ReduceOptions options, CallPtr call) override;
  net::Task<Result<void>> Delete(ObjectId object, CallPtr call) override;
  net::Task<Result<planner::ObjectView>> Info(ObjectId object, CallPtr call) override;
  net::Task<Result<planner::StatusPage>> Status(std::size_t shard, planner::PageRequest page,
                                                CallPtr call) override;
  std::size_t shard_count() const override { return context_.directory.shard_count(); }
  std::shared_ptr<void> Subscribe(
      ObjectId object, std::function<void(const planner::Location&)> on_location) override;
  store::ObjectStore& store() override { return context_.store; }
  asio::io_context& loop() override { return context_.runtime.main(); }
  const std::string& name() const override { return context_.settings.name; }
  void Spawn(const char* what, net::Task<void> task) override {
    context_.runtime.Spawn(loop(), what, std::move(task));
  }
  const std::optional<Error>& stopped() const { return stopped_; }
  void OnUnpin() override { context_.memory.OnSpace(); }
  void GiveUpIdle() override { data_plane_.GiveUpIdle(); }
  Error GaveUp(const ObjectId& object, const Call& call) override {
    return WhyEnded(*context_.table.At(object), call);
  }

  // The same, told at once what is known already, and of the object's deletion, past or to come;
  // and, when the shard's session ends, of each place that may be none any more.
  std::shared_ptr<void> Watch(ObjectId object,
                              std::function<void(const planner::Location&)> on_location,
                              std::function<void()> on_deleted,
                              std::function<void(NodeId)> on_forgotten);

  // --- what the directory says ---
  void OnAction(const planner::NodeAction& action);
  void OnSession(std::size_t shard, bool open);
  // This node was away for longer than the shard remembers Deletes: its copies may be of deleted
  // objects.
  void OnOutlived(std::size_t shard);
  // It was lost for the shard, which knows nothing of its grants: its flights ask for new ones.
  void OnLost(std::size_t shard);
  // As DirectoryClient's hooks say.
  directory::DirectoryClient::Part Inventory(std::size_t shard,
                                             const std::optional<ObjectId>& after,
                                             std::size_t bytes);
  std::vector<planner::NodeEvent> InventoryOf(const ObjectId& object);
  directory::DirectoryClient::Part InlineBytes(std::size_t shard,
                                               const std::optional<ObjectId>& after,
                                               std::size_t bytes);

  void Sweep();  // now and then: forget what says nothing any more, tell how full the store is
  // Ends every flight; whoever waits, and new operations, are answered with the first such reason.
  void Stop(const Error& why);

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
  static void ForgetLocations(ObjectEntry& entry);
  std::size_t ShardOf(const ObjectId& object) const;
  std::shared_ptr<Flight> Join(const EntryPtr& entry);
  net::Task<Result<store::CopyPtr>> Follow(ObjectId object, CallPtr call, bool through_window);
  bool MadeHere(const ObjectEntry& entry) const;
  planner::StoreUsage Usage() const;
  Result<void> Usable(const ObjectEntry& entry) const;
  std::string WhyAway(std::size_t shard) const;
  Error WhyEnded(const ObjectEntry& entry, const Call& call) const;
  bool KeptByShard(const store::Copy& copy, std::size_t shard) const;
  std::vector<ObjectId> ObjectsAfter(const std::optional<ObjectId>& object) const;
  void Tell(const ObjectId& object, std::vector<planner::NodeEvent>& events);
  void TellCopy(const store::Copy& copy, const EntryPtr& entry,
                std::vector<planner::NodeEvent>& events) const;
  void AppendInventory(const ObjectEntry& entry, std::vector<planner::NodeEvent>& events) const;

  Context& context_;
  DataPlane& data_plane_;
  std::optional<Error> stopped_;
  std::uint64_t reductions_ = 0;    // numbers them
  std::uint64_t publications_ = 0;  // the same
};

}  // namespace hoplite::node
