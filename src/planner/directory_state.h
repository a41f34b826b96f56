// DirectoryState: everything one directory shard knows, and every decision it makes.
//
// Decides: which version an object has; which holder serves which receiver; who is told what, and
// when. Is told: Events. Answers: Actions. Knows no socket, thread, log, clock or random source:
// time enters as a field of an event, so the same events give the same actions, in the service and
// in a simulation. Must never: grant from a node that is suspended or lost, from a descendant of
// the receiver, or across versions; decide inside a request (good trees come from planning
// batches).
//
// A value type, not thread-safe: whoever drives it owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/words.h"
#include "protocol/presence.h"

namespace hoplite::planner {

struct DirectoryOptions {
  // Identifies this life of the shard: max(start time in µs, highest that any node reports + 1).
  std::uint64_t incarnation = 1;
  // Objects up to this size with bytes in their Create live in the directory.
  std::uint64_t inline_limit_bytes = 16 * 1024;
  std::uint64_t inline_total_bytes = 256 * 1024 * 1024;
  // Of their bytes so many may stand before the shard's link, or what links carry in that time: more
  // leave once, and go on from node to node (R83). That way they come some hundred microseconds
  // later: hence a few times that.
  std::uint64_t inline_ahead_bytes = 64 * 1024;
  Duration inline_ahead = std::chrono::milliseconds(2);
  // Of smaller ones the messages cost more than the bytes: they leave no holder for that (R85).
  std::uint64_t holder_gives_from_bytes = 4 * 1024;
  // Whoever is to get an object that way waits so long at least before the shard sends it (R84).
  Duration give_patience = std::chrono::milliseconds(20);
  std::uint64_t metadata_limit_bytes = 4096;
  Duration tombstone = std::chrono::seconds(60);
  // A client of a node that was lost, or that died, still owns what it owned for so long.
  Duration orphan_grace = std::chrono::seconds(30);
  // Before owners that the shard cannot know of are given up: lease, grace and orphan grace.
  Duration unknown_owners = std::chrono::seconds(32);
  // So many ids one node may own.
  std::size_t owned_limit = 1'000'000;
  // So many registers one node may have open.
  std::size_t register_limit = 100'000;
  // After its start the shard only collects inventories for so long; 0 for a cluster known to be
  // new. Longer while a node tells its inventory, and was heard within this time; the limit ends it
  // in any case.
  Duration recovery_window = std::chrono::seconds(1);
  Duration recovery_limit = std::chrono::seconds(60);
  // A receiver that complained about a source is not sent there again for so long.
  Duration keep_apart = std::chrono::seconds(1);
  // A receiver keeps its source so long before another one may be worth a move (R102): what comes
  // from there is not known earlier.
  Duration keeps_source = std::chrono::milliseconds(60);
  // A receiver whose source makes no progress for so long is moved to a free complete one.
  Duration starved_after = std::chrono::seconds(1);
  // What links are like until they were measured; `guessed`: nobody said so.
  LinkModel link{.guessed = true};
  // Tests and simulations: a version for which so many wait who have nothing becomes a forest (R65),
  // whatever the links are like. 0: if that pays.
  std::uint64_t forest_from = 0;
  // Simulations: rates count where links differ, not only where sites do (R100).
  bool rates = true;
  // So many objects one Plan looks at; what is left is due at once.
  std::size_t slice = 1000;
};

class DirectoryState {
 public:
  explicit DirectoryState(const DirectoryOptions& options, Time start);
  ~DirectoryState();
  DirectoryState(const DirectoryState&);
  DirectoryState& operator=(const DirectoryState&);
  DirectoryState(DirectoryState&&) noexcept;
  DirectoryState& operator=(DirectoryState&&) noexcept;

  // Records one fact. Never refuses silently: a request that can't be met is answered by Plan.
  void Apply(const Event& event);
  // Appends everything that is due at `now`, immediate answers included, in a deterministic order;
  // returns when it wants to be asked again (kNever: only after the next event; `now`: at once,
  // since one call only does a slice of what a large loss, for example, leaves to do).
  Time Plan(Time now, std::vector<Action>& actions);

  bool collecting() const;               // inside the recovery window
  Duration CollectsFor(Time now) const;  // while it collects, unless a node tells more
  // Not collecting, and no node is in the middle of its inventory.
  bool knows_members() const;
  std::vector<NodeView> Nodes() const;
  std::vector<ObjectView> Objects() const;  // O(state); for tests and simulations
  ObjectPage Objects(const PageRequest& page) const;
  ShardView Shard() const;
  std::optional<ObjectView> Find(const ObjectId& object) const;
  // Into how many groups its stripes are cut; 0: there is no such object.
  std::size_t GroupsOf(const ObjectId& object) const;
  // Why nothing of that name is there: it was deleted, and is blocked for a while, or its reduction
  // failed; none: not so.
  std::optional<Error> WhyAbsent(const ObjectId& object, Time now) const;
  // The same in one word.
  Presence PresenceOf(const ObjectId& object, Time now) const;
  // Observation, which is no part of the state and not copied with it: of the watched objects, those
  // that something happened to since this was asked last. Must never change what Plan answers.
  void Watch(const ObjectId& object);
  void Unwatch(const ObjectId& object);
  std::vector<ObjectId> TakeTouched();
  // Of an id: whether it has a mark; whether a node owns it; whether one did. For simulations.
  struct OwnerView {
    bool deleted = false;
    bool owned = false;
    bool ever_owned = false;
  };
  OwnerView Owners(const ObjectId& object) const;
  // None: no node has it open. For simulations.
  struct RegisterPicture {
    RegisterContents entry;
    bool writer = false;
    std::size_t nodes = 0;
  };
  std::optional<RegisterPicture> Register(const ObjectId& name) const;

  // What the node's link was shown to carry, in bytes per second; 0: nothing. For simulations.
  double ShownOf(NodeId node) const;

  // A fingerprint of everything that influences later behaviour.
  std::uint64_t Fingerprint() const;
  // Empty, or the first broken invariant in words ("P2: n3 pulls from its descendant n5 …").
  // O(state); tests and simulations call it after each event.
  std::string BrokenInvariant() const;
  // How often something changed so far. While it stays the same, so does what BrokenInvariant says.
  std::uint64_t changes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace hoplite::planner
