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
#include "planner/books/directory_options.h"
#include "planner/words/words.h"
#include "protocol/presence.h"

namespace hoplite::planner {

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
  std::vector<NodeView> Nodes(Time now) const;
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
  // Of an id: whether it has a tombstone; whether a node owns it; whether one did. For simulations.
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
