// ObjectTable: what this node is doing about each object: a Put under way, a fetch under way, who
// waits here, whether it was deleted. Which bytes are where is the store's business. Main loop
// only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "node/operations.h"
#include "planner/action.h"

namespace hoplite::node {

class Coordinator;
class Flight;
class Publication;
class Slot;

struct Subscriber {
  std::function<void(const planner::Location&)> on_location;  // may be empty, as may the next
  std::function<void()> on_deleted;
  std::function<void(NodeId)> on_forgotten;  // it may not be there any more: the session ended
};

struct ObjectEntry {
  explicit ObjectEntry(ObjectId id) : object(id) {}

  const ObjectId object;
  std::shared_ptr<Publication> publication;  // an open Put of a local client
  // The number of one that was given up while the shard had not answered, until it confirms that
  // it took that back (R47): nothing it says about a Create is believed, and no other begins.
  std::optional<std::uint64_t> withdrawn;
  std::shared_ptr<Flight> flight;                        // one flight, however many wait for it
  std::shared_ptr<Coordinator> coordinator;              // a reduction of a local client makes it
  std::map<std::uint32_t, std::shared_ptr<Slot>> slots;  // slots executed here, by number
  // The bytes that came with the directory's answer, while somebody pins them: who is told of the
  // same version shares them.
  std::weak_ptr<store::Copy> inlined;
  std::map<std::uint64_t, Call*> waiters;  // in the order of their coming
  std::uint64_t waited = 0;                // numbers them
  std::vector<std::weak_ptr<Subscriber>> subscribers;
  std::map<NodeId, planner::Location> locations;  // as told since the first of them
  Time deleted_until = Time::min();
  Version deletion;             // the mark's own version
  int open_deletes = 0;         // calls that wait for the shard's confirmation
  std::uint64_t deletions = 0;  // how often the shard said so
  int outgoing = 0;             // streams that serve this node's copy now
  std::string lost_holder;      // the last holder that was lost, for errors
  std::uint64_t aborts = 0;     // how often a reduction that was to make it gave up
  std::optional<Error> abort;   // why, the last time

  bool deleted(Time now) const { return now < deleted_until; }
  // The root of a reduction that is not committed: null, or what makes the object here.
  std::shared_ptr<Slot> target() const;
  // Somebody's look at the world may have changed: all waiters look again.
  void Changed() {
    for (const auto& [number, call] : waiters) call->changed.Notify();
  }
};
using EntryPtr = std::shared_ptr<ObjectEntry>;

class ObjectTable {
 public:
  ObjectTable() = default;
  ~ObjectTable();
  ObjectTable(const ObjectTable&) = delete;
  ObjectTable& operator=(const ObjectTable&) = delete;

  EntryPtr At(const ObjectId& object);    // made if it isn't there
  EntryPtr Find(const ObjectId& object);  // null if it isn't there
  // Forgets entries that say nothing any more.
  void Sweep(Time now);
  const std::map<ObjectId, EntryPtr>& entries() const { return entries_; }

  // Ends what is under way; whoever waits, and new calls, are answered with the first such reason.
  void Stop(const Error& why);
  const std::optional<Error>& stopped() const { return stopped_; }

 private:
  std::map<ObjectId, EntryPtr> entries_;
  std::optional<Error> stopped_;
};

// While it lives, the call is woken by every change of the entry.
class WaitingCall {
 public:
  WaitingCall(EntryPtr entry, CallPtr call)
      : entry_(std::move(entry)), call_(std::move(call)), number_(entry_->waited++) {
    entry_->waiters.emplace(number_, call_.get());
  }
  ~WaitingCall() { entry_->waiters.erase(number_); }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;

  // False when the call was cancelled or its deadline passed.
  net::Task<bool> Wait() {
    if (call_->cancelled) co_return false;
    const bool woken = co_await call_->changed.Wait(call_->deadline);
    co_return woken && !call_->cancelled;
  }

 private:
  EntryPtr entry_;
  CallPtr call_;
  const std::uint64_t number_;
};

}  // namespace hoplite::node
