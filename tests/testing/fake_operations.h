// A node that is all alone: the local endpoint's Operations over a real ObjectStore, with neither
// directory nor network. Put makes objects, Get waits for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include "node/core/operations.h"

namespace hoplite::test {

class FakeOperations final : public node::Operations {
 public:
  FakeOperations(asio::io_context& loop, std::uint64_t memory_bytes);
  FakeOperations(asio::io_context& loop, std::unique_ptr<store::SharedSegment> segment);
  ~FakeOperations() override;

  net::Task<Result<std::shared_ptr<node::Draft>>> Create(ObjectId object, std::uint64_t size_bytes,
                                                         std::string metadata,
                                                         node::CallPtr call) override;
  net::Task<Result<store::CopyPtr>> Get(ObjectId object, node::CallPtr call) override;
  net::Task<Result<store::CopyPtr>> Open(ObjectId object, node::CallPtr call) override;
  net::Task<Result<store::CopyPtr>> OpenWindow(ObjectId object, node::CallPtr call) override {
    return Open(object, std::move(call));
  }
  // Computes nothing: the target becomes a copy of the first source that is used.
  net::Task<Result<ReduceOutcome>> Reduce(ReduceOptions options, node::CallPtr call) override;
  net::Task<Result<void>> Delete(ObjectId object, node::CallPtr call) override;
  // Whoever owned it last and is gone deletes it; the dead, at once.
  net::Task<Result<void>> Own(ObjectId object, node::CallPtr call) override;
  net::Task<Result<void>> Disown(ObjectId object, node::CallPtr call) override;
  void OnClientEnd(const node::Owner& client, ClientEnd how) override;
  node::OwnedIds owned() const override { return {owners_.size(), kMaxOwned}; }
  // Nobody is told of changes: who waits for one waits to the end.
  std::shared_ptr<node::OpenRegister> OpenRegister(const std::string& name) override;
  // Hands nothing on.
  net::Task<Result<DrainOutcome>> Drain(node::CallPtr /*call*/) override {
    co_return DrainOutcome{};
  }
  net::Task<Result<protocol::ObjectView>> Info(ObjectId object, node::CallPtr call) override;
  // A shard draws two objects at once.
  net::Task<Result<protocol::StatusPage>> Status(std::size_t shard, protocol::PageRequest request,
                                                 node::CallPtr call) override;
  std::size_t shard_count() const override { return shards_; }
  std::vector<std::string> directory() const override { return {"127.0.0.1:7000"}; }
  std::shared_ptr<void> Subscribe(
      ObjectId object, std::function<void(const protocol::Location&)> on_location) override;
  std::shared_ptr<void> Watch(ObjectId object, node::Subscriber watcher,
                              bool only_if_owned) override;
  std::uint64_t cluster_id() const override { return cluster_id_; }
  void Spawn(const char* what, net::Task<void> task) override;
  void OnUnpin() override {}
  void GiveUpIdle() override {}
  net::Task<Error> GaveUp(ObjectId object, node::CallPtr call, Time since) override;
  std::string WhyUnfinished(const ObjectId& object) override;
  net::Task<node::Explanation> Why(ObjectId object, node::CallPtr call) override;
  store::ObjectStore& store() override { return *store_; }
  asio::io_context& loop() override { return loop_; }
  const std::string& name() const override { return name_; }

  // On the loop, for tests: a recall by the directory; a change of locations.
  void Recall(const ObjectId& object);
  void Locate(const protocol::Location& location);
  std::size_t subscribers() const { return subscribers_->size(); }
  std::size_t open_registers() const { return open_registers_; }
  void SetClusterId(std::uint64_t id) { cluster_id_ = id; }
  // Before a client attaches: so many shards, all but the last of them away.
  void SetShards(std::size_t shards) { shards_ = shards; }
  // Requests that wait for something now.
  std::size_t waiting() const { return waiting_.size(); }
  // What the last Reduce asked for.
  const ReduceOptions& reduction() const { return reduction_; }
  // How the last client ended.
  std::optional<ClientEnd> client_end() const { return client_end_; }

 private:
  class FakeDraft;
  class FakeRegister;
  using Subscribers = std::multimap<ObjectId, std::function<void(const protocol::Location&)>>;

  static constexpr std::size_t kMaxOwned = 3;
  Result<void> MayOwn(const ObjectId& object, const node::Call& call) const;
  void Disown(const ObjectId& object, const node::Owner& client);
  // The copy when it is there (and final, if so asked); deleted, cancelled or timeout if it never
  // is.
  net::Task<Result<store::CopyPtr>> Await(ObjectId object, bool final, node::CallPtr call);
  // Those of the sources that are there by now, at most as many as are wanted.
  std::vector<store::CopyPtr> Available(const ReduceOptions& options) const;
  void WakeAll();
  void Drop(const ObjectId& object, store::VoidReason why);

  asio::io_context& loop_;
  const std::string name_ = "alone";
  std::unique_ptr<store::ObjectStore> store_;
  std::uint64_t cluster_id_ = 0;
  std::size_t shards_ = 1;
  std::set<ObjectId> deleted_;
  std::set<node::CallPtr> waiting_;
  ReduceOptions reduction_;
  std::map<ObjectId, std::set<std::uint64_t>> owners_;
  std::optional<ClientEnd> client_end_;
  std::map<std::string, protocol::RegisterContents> registers_;
  std::size_t open_registers_ = 0;
  std::shared_ptr<Subscribers> subscribers_ = std::make_shared<Subscribers>();
};

}  // namespace hoplite::test
