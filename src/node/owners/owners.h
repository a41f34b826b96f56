// Owners: which ids the clients of this node own, and what the shards hear of it.
//
// planner::OwnershipState decides, for each shard, when the node's bit of an id changes and what
// whoever asked is answered; this knows which shard that is, carries out what is decided, and wakes
// it in time.
//
// Decides: how many ids may be owned; that nothing is owned for a client that is gone. Is told: what
// clients ask and how they end, how owned requests are answered, what shards say, sessions. Must
// never: leave an owned request open that the shard has answered, or that it will never hear of.
// Main loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "directory/directory_client.h"
#include "net/deadline.h"
#include "node/core/operations.h"
#include "planner/node/ownership_state.h"

namespace hoplite::node {

class Owners {
 public:
  using Terms = directory::DirectoryClient::OwnerTerms;

  Owners(asio::io_context& loop, directory::DirectoryClient& directory, std::size_t limit);

  // A call of Own, as long as it waits: its end before the answer gives it up.
  class Asking {
   public:
    Asking(Owners& owners, const ObjectId& object, Call& call);
    ~Asking();
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    const std::optional<protocol::OwnerResult>& result() const { return result_; }

   private:
    friend class Owners;
    Owners& owners_;
    const ObjectId object_;
    Call& call_;  // woken by the answer
    const std::uint64_t ticket_;
    std::optional<protocol::OwnerResult> result_;
  };

  void Disown(const ObjectId& object, const Owner& client);
  void OnClientEnd(const Owner& client, Operations::ClientEnd how);
  // The id is owned already, or there is room for one more.
  bool has_room(const ObjectId& object) const;
  // As long as its tombstone lasts.
  Duration longest_grace(const ObjectId& object) const { return StateOf(object).longest_grace(); }
  OwnedIds owned() const;

  // --- requests that make their client an owner when they are accepted
  // Of a Put, at most one of an object at a time: its number, which every repetition has.
  std::uint64_t BeginPut(const ObjectId& object, const Owner& client,
                         std::optional<Duration> grace);
  // The shard's answer to it; or it will never hear of it, which is a refusal. Nothing without one.
  void OnPutAnswered(const ObjectId& object, bool accepted);
  // Of a reduction, and how that ended; unknown: given up, and perhaps committed at that moment.
  enum class ReductionEnd : std::uint8_t { kCommitted, kNever, kUnknown };
  std::uint64_t BeginReduction(const ObjectId& target, const Owner& client,
                               std::optional<Duration> grace);
  void OnReductionEnd(const ObjectId& target, const Owner& client, std::uint64_t number,
                      ReductionEnd end);

  // --- what a shard says
  void Hear(const protocol::OwnerAnswer& answer);
  void OnDeleted(const ObjectId& object);
  void OnTerms(std::size_t shard, const Terms& terms);  // a session opens
  void OnSessionEnd(std::size_t shard);

  // --- what a shard is told in a new session
  std::uint64_t number(std::size_t shard) const { return shards_.at(shard).number(); }
  std::optional<protocol::Owned> Inventory(const ObjectId& object) const;
  std::vector<ObjectId> After(std::size_t shard, const std::optional<ObjectId>& object,
                              std::size_t most) const {
    return shards_.at(shard).After(object, most);
  }

 private:
  std::size_t ShardOf(const ObjectId& object) const;
  planner::OwnershipState& StateOf(const ObjectId& object) { return shards_[ShardOf(object)]; }
  const planner::OwnershipState& StateOf(const ObjectId& object) const {
    return shards_[ShardOf(object)];
  }
  void Settle(const ObjectId& object, std::uint64_t number, bool accepted);
  void Carry(const planner::OwnershipState::Effects& effects);
  void Wake();
  void SetAlarm();

  asio::io_context& loop_;
  directory::DirectoryClient& directory_;
  const std::size_t limit_;
  std::vector<planner::OwnershipState> shards_;
  std::map<std::uint64_t, Asking*> asking_;  // by ticket
  std::uint64_t tickets_ = 0;
  std::map<ObjectId, std::uint64_t> puts_;  // numbers of those that are not answered
  Time alarm_at_ = kNever;                  // by NowSinceBoot
  std::optional<net::Deadline> alarm_;
};

}  // namespace hoplite::node
