// ClientCalls: what a node does for its clients.
//
// Decides: whether a call can be answered from here, which flight, Put or reduction it waits for,
// and what it is answered. Is told: operations of clients; each change of an object wakes whoever
// waits for it. Must never: let a Get return a copy that is not final, or anything a deleted
// object. Main loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "node/core/context.h"
#include "node/core/operations.h"
#include "node/drain/drainage.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

class ClientCalls final : public Operations {
 public:
  ClientCalls(Context& context, DataPlane& data_plane, Drainage& drainage)
      : context_(context), data_plane_(data_plane), drainage_(drainage) {}

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
  net::Task<Result<void>> Own(ObjectId object, CallPtr call) override;
  net::Task<Result<void>> Disown(ObjectId object, CallPtr call) override;
  void OnClientEnd(const Owner& client, ClientEnd how) override;
  OwnedIds owned() const override;
  std::shared_ptr<node::OpenRegister> OpenRegister(const std::string& name) override;
  net::Task<Result<DrainOutcome>> Drain(CallPtr call) override {
    return drainage_.Run(std::move(call));
  }
  net::Task<Result<protocol::ObjectView>> Info(ObjectId object, CallPtr call) override;
  net::Task<Result<protocol::StatusPage>> Status(std::size_t shard, protocol::PageRequest page,
                                                 CallPtr call) override;
  std::size_t shard_count() const override { return context_.directory.shard_count(); }
  std::vector<std::string> directory() const override { return context_.settings.directory; }
  std::shared_ptr<void> Subscribe(
      ObjectId object, std::function<void(const protocol::Location&)> on_location) override;
  std::shared_ptr<void> Watch(ObjectId object, Subscriber watcher, bool only_if_owned) override;
  std::uint64_t cluster_id() const override { return context_.directory.shard_id(0); }
  store::ObjectStore& store() override { return context_.store; }
  asio::io_context& loop() override { return context_.runtime.main(); }
  const std::string& name() const override { return context_.settings.name; }
  void Spawn(const char* what, net::Task<void> task) override {
    context_.runtime.Spawn(loop(), what, std::move(task));
  }
  void OnUnpin() override { context_.memory.OnSpace(); }
  void GiveUpIdle() override { data_plane_.GiveUpIdle(); }
  net::Task<Error> GaveUp(ObjectId object, CallPtr call, Time since) override;
  std::string WhyUnfinished(const ObjectId& object) override;
  net::Task<Explanation> Why(ObjectId object, CallPtr call) override;

 private:
  Result<void> MayCome(const ObjectEntry& entry, const Expecting& expecting,
                       std::uint64_t aborts) const;
  Result<std::shared_ptr<Flight>> Join(const EntryPtr& entry, const Call& call);
  net::Task<Result<store::CopyPtr>> Follow(ObjectId object, CallPtr call, bool through_window);
  static bool Leaves(const ObjectEntry& entry, const store::CopyPtr& copy);
  static Result<store::CopyPtr> BytesOf(store::CopyPtr copy);
  bool MadeHere(const ObjectEntry& entry) const;
  Result<void> Usable(const ObjectEntry& entry) const;
  Result<void> TakesNew() const;
  static Result<void> Expected(const ObjectEntry& entry, const Expecting& expecting);
  // A number for what relies on an owner; 0: it does not.
  std::uint64_t Expects(bool only_if_owned) { return only_if_owned ? ++expectations_ : 0; }
  Result<void> MayOwn(const ObjectId& object, const Call& call) const;
  Error NotOwned(const ObjectId& object, const Call& call) const;
  // client_why.cpp. What the object's shard says of it, or why it says nothing; none: it was not asked.
  using Said = std::optional<Result<protocol::ObjectView>>;
  net::Task<Said> AskShard(ObjectId object, Duration patience);
  std::string Missing(const ObjectEntry& entry, const Said& said) const;
  std::string Lacks(const ObjectEntry& entry, const Said& said) const;
  EntryPtr UnderWay(const ObjectId& object) const;
  Error WhyEnded(const ObjectEntry& entry, const Call& call, const Said& said = std::nullopt) const;
  // The same of a call that has waited since then, with what the object's shard knows.
  net::Task<Error> Ended(EntryPtr entry, CallPtr call, Time since);

  Context& context_;
  DataPlane& data_plane_;
  Drainage& drainage_;
  std::uint64_t reductions_ = 0;    // numbers them
  std::uint64_t publications_ = 0;  // the same
  std::uint64_t expectations_ = 0;  // the same
  std::size_t asking_ = 0;          // the shards, why objects are not here
};

}  // namespace hoplite::node
