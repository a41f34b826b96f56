// DirectoryClient: a node's conversation with the shards of the directory.
//
// A node speaks NodeEvents and hears NodeActions; which shard an object belongs to, sessions,
// batches, heartbeats and reconnecting are the implementation's business. Everything here happens
// on the node's loop. What is sent while a shard is away is dropped: when the session is back, the
// node is asked for its inventory for that shard (copies, tombstones and open requests), part by
// part, which is the truth. The same holds for an object that the inventory of an open session has
// not come to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"
#include "protocol/views.h"

namespace hoplite::directory {

// The shard that an object belongs to.
inline std::size_t ShardOf(const ObjectId& object, std::size_t shard_count) {
  return object.Hash() % shard_count;
}

class DirectoryClient {
 public:
  // A part of something that is told in order of object id.
  struct Part {
    std::vector<protocol::NodeEvent> events;
    std::optional<ObjectId> reached;  // the last object that it covers; null: there are no more
  };
  using TellPart = std::function<Part(std::size_t shard, const std::optional<ObjectId>& after,
                                      std::size_t bytes)>;
  using TellInventory = std::function<Part(std::size_t shard, const std::optional<ObjectId>& after,
                                           std::size_t bytes, const std::set<ObjectId>& told)>;
  // How long a client that died still owns, and how long a Delete is remembered.
  struct OwnerTerms {
    Duration lease{0};
    Duration orphan_grace{0};
    Duration tombstone{0};
  };
  struct Hooks {
    std::function<void(const protocol::NodeAction&)> on_action;
    // Whether the node has copies of objects of this shard. If it has any at all, it waits for a
    // shard that refuses it, and keeps them. Unset: it never has.
    std::function<bool(std::size_t shard)> holds;
    // Held, Tombstone and open requests of the objects of this shard that come after one, or of
    // all, in about so many bytes; nothing of those that were told already in this session, since to
    // tell may change what the node goes on with. InventoryEnd is added by the client. Never called
    // in the middle of a step of the node.
    TellInventory inventory;
    // The same of one object; empty if there is nothing to say of it.
    std::function<std::vector<protocol::NodeEvent>(const ObjectId&)> inventory_of;
    // HeldBytes of the small primary copies, likewise; may be null.
    TellPart inline_bytes;
    // The highest number that the node gave to a change of what it owns, for a Hello to this shard.
    // Unset: it never owns anything.
    std::function<std::uint64_t(std::size_t shard)> owner_number;
    // The same of words about registers.
    std::function<std::uint64_t(std::size_t shard)> register_number;
    // What the shard's Welcome says of owned objects; told before on_session, and before the
    // inventory is asked. May be null.
    std::function<void(std::size_t shard, const OwnerTerms& terms)> on_owner_terms;
    // A shard's session opened (true) or ended (false); for logs, status and deadlines that say
    // why.
    std::function<void(std::size_t shard, bool open)> on_session;
    // Once per shard and Start: the first session is open, or there will be none for now (the shard
    // is away, it is tried again). A shard that refuses the node may never say it.
    std::function<void(std::size_t shard)> on_settled;
    // This node can never join (wrong cluster, name in use), and it has no copies to keep or has
    // lost its name to another. That shard is not tried again.
    std::function<void(const Error&)> on_refused;
    // The shard had declared this node lost and takes it again as a new one: what it had granted is
    // void. The inventory is asked next.
    std::function<void(std::size_t shard)> on_lost;
    // This node was away from the shard for longer than Deletes are remembered: it drops its copies
    // of that shard's objects, now, so that no deleted object returns. The inventory is asked next.
    std::function<void(std::size_t shard)> on_outlived;
  };

  virtual ~DirectoryClient() = default;
  virtual void Start(protocol::NodeInfo self, Hooks hooks) = 0;
  virtual void Send(protocol::NodeEvent event) = 0;
  virtual std::size_t shard_count() const = 0;
  // Which life of the shard the open session is with: its grants bear this incarnation or a greater
  // one, those of its predecessors a lesser. None: no session is open.
  virtual std::optional<std::uint64_t> life(std::size_t shard) const = 0;
  bool connected(std::size_t shard) const { return life(shard).has_value(); }
  // Before this the shard has not given the node up: when the newest heartbeat left that it
  // answered in the open session, or else its Hello, by NowSinceBoot (base/clock.h), which counts
  // the time that the machine was suspended. None: no session is open.
  virtual std::optional<Time> vouched(std::size_t shard) const = 0;
  // By which id the shard goes, as it told last; 0: it was not reached yet.
  virtual std::uint64_t shard_id(std::size_t shard) const = 0;
  // Larger objects are not sent to this shard whole: as it told last, or as none may allow.
  virtual std::uint64_t inline_limit(std::size_t shard) const = 0;
  // Why the last session with the shard, or the last attempt at one, ended (Refuses in
  // away.h: the node waits, and asks again). None while a session is open.
  virtual std::optional<Error> why_away(std::size_t shard) const = 0;
  // Since the end of that session, or since Start if there was none. 0: a session is open.
  virtual Duration away_for(std::size_t shard) const = 0;
  // One object, or a page of a shard's picture, for `info` and `status`; `done` runs on the loop,
  // within the timeout.
  virtual void Find(const ObjectId& object, Duration timeout,
                    std::function<void(Result<protocol::ObjectView>)> done) = 0;
  virtual void Status(std::size_t shard, const protocol::PageRequest& page, Duration timeout,
                      std::function<void(Result<protocol::StatusPage>)> done) = 0;
  // No hook runs after it returned.
  virtual void Stop() = 0;
};

}  // namespace hoplite::directory
