// ObjectEntry: what this node is doing about one object: a Put under way, a fetch under way, a
// reduction, who waits here, whether it was deleted. Which bytes are where is the store's business.
//
// Decides nothing: each part tells what it began and ended, and others read it. Main loop only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "node/core/operations.h"
#include "node/core/subscriber.h"
#include "planner/node/publication_state.h"
#include "protocol/node_action.h"

namespace hoplite::node {

class Coordinator;
class Flight;
class Publication;
class ReadBack;
class Slot;

// The shard's word that the object was deleted, and the calls that ask for it.
class Deletion {
 public:
  // The id is blocked until then; the tombstone has a version of its own.
  void Confirm(Time until, Version version) {
    until_ = until;
    version_ = version;
    ++confirmed_;
  }
  bool blocks(Time now) const { return now < until_; }
  Time until() const { return until_; }
  Version version() const { return version_; }
  std::uint64_t confirmed() const { return confirmed_; }  // how often

  // Calls that wait for the shard's confirmation: while there are any, the Delete is repeated.
  void Ask() { ++asking_; }
  void AskNoMore() { --asking_; }
  bool asked() const { return asking_ > 0; }

 private:
  Time until_ = Time::min();
  Version version_;
  std::uint64_t confirmed_ = 0;
  int asking_ = 0;
};

// Calls that rely on an owner of the object (R59), by the node's numbers of them.
class Expectations {
 public:
  void Add(std::uint64_t number) { open_.insert(number); }
  void Remove(std::uint64_t number) { open_.erase(number); }
  // For the shard; 0: no call does.
  std::uint64_t newest() const { return open_.empty() ? 0 : *open_.rbegin(); }
  // The shard says that nobody owns it: of all up to this number.
  void Disappoint(std::uint64_t number) { disappointed_ = std::max(disappointed_, number); }
  bool disappointed(std::uint64_t number) const { return number != 0 && number <= disappointed_; }

 private:
  std::set<std::uint64_t> open_;
  std::uint64_t disappointed_ = 0;
};

// Who follows the object's places from here, and what they were told since the first of them.
class Followers {
 public:
  // True: it is the first.
  bool Add(const std::shared_ptr<Subscriber>& subscriber);
  // Forgets those that are gone. True: nobody is left, and the places are forgotten, too.
  bool Sweep();
  bool any() const;
  const std::map<NodeId, protocol::Location>& places() const { return places_; }

  void Tell(const protocol::Location& location);
  void TellDeleted();
  void TellFailed(const Error& why);
  // Nobody has all of it any more.
  void TellLost();
  // Nobody will make it, as they were told last; none: it may come, or was made.
  const std::optional<Error>& failure() const { return failure_; }
  // It was there, and is so no more, as they were told last.
  bool lost() const { return lost_; }
  // Those who rely on an owner.
  void TellUnowned(const Expectations& expectations);
  // The next session repeats the present holders, but not that others vanished meanwhile.
  void Forget();

 private:
  void ForEach(const std::function<void(const Subscriber&)>& tell) const;

  std::vector<std::weak_ptr<Subscriber>> subscribers_;
  std::map<NodeId, protocol::Location> places_;
  std::optional<Error> failure_;
  bool lost_ = false;
};

// A slot of a reduction that is executed here.
struct SlotHere {
  std::shared_ptr<Slot> slot;
  bool root = false;  // it makes the object, or a stripe of it
  Version version;    // of what it makes
};

class ObjectEntry {
 public:
  explicit ObjectEntry(ObjectId id) : object(id) {}

  const ObjectId object;
  Deletion& deletion() { return deletion_; }
  const Deletion& deletion() const { return deletion_; }
  Followers& followers() { return followers_; }
  const Followers& followers() const { return followers_; }
  bool deleted(Time now) const { return deletion_.blocks(now); }
  Expectations& expectations() { return expectations_; }
  const Expectations& expectations() const { return expectations_; }
  // What a copy that is listed next is told. Not worth an entry of its own: copies know.
  bool ever_owned() const { return ever_owned_; }
  void set_ever_owned(bool ever_owned) { ever_owned_ = ever_owned; }

  // --- a Put of a local client
  void Begin(std::shared_ptr<Publication> publication) { publication_ = std::move(publication); }
  void Ended(const Publication& publication);
  // Whoever ends it keeps it meanwhile.
  std::shared_ptr<Publication> publication() const { return publication_; }
  // How much memory one waits for here, and the object's name; none: none does.
  void PutWaits(std::optional<std::uint64_t> bytes, std::string_view name = {}) {
    put_waits_for_ = bytes;
    put_name_ = name;
  }
  const std::string& put_name() const { return put_name_; }
  const std::optional<std::uint64_t>& put_waits_for() const { return put_waits_for_; }
  // One that was given up.
  planner::Withdrawal& withdrawal() { return withdrawal_; }
  const planner::Withdrawal& withdrawal() const { return withdrawal_; }

  // --- its fetch: one, however many wait for it
  void Begin(std::shared_ptr<Flight> flight) { flight_ = std::move(flight); }
  void Ended(const Flight& flight);
  const std::shared_ptr<Flight>& flight() const { return flight_; }
  // Its way from this node's disk into memory.
  void Begin(std::shared_ptr<ReadBack> read) { read_back_ = std::move(read); }
  void Ended(const ReadBack& read);
  const std::shared_ptr<ReadBack>& read_back() const { return read_back_; }
  // The bytes that came with the directory's answer, while somebody pins them: who is told of the
  // same version shares them.
  void Share(const store::CopyPtr& inlined) { inlined_ = inlined; }
  store::CopyPtr inlined() const { return inlined_.lock(); }
  // Streams that serve this node's copy now.
  void CountOutgoing(int change) { outgoing_ += change; }
  int outgoing() const { return outgoing_; }
  // For errors; empty: it was not lost, or is there again.
  void SetLoss(protocol::Loss loss) { loss_ = std::move(loss); }
  const protocol::Loss& loss() const { return loss_; }

  // --- a reduction that makes it
  void Begin(std::shared_ptr<Coordinator> coordinator) { coordinator_ = std::move(coordinator); }
  void EndCoordination() { coordinator_.reset(); }
  const std::shared_ptr<Coordinator>& coordinator() const { return coordinator_; }
  // Slots that are executed here, by number.
  void Begin(std::uint32_t number, SlotHere slot) { slots_[number] = std::move(slot); }
  void Ended(std::uint32_t number, const Slot& slot);
  std::shared_ptr<Slot> slot(std::uint32_t number) const;  // null: none
  const std::map<std::uint32_t, SlotHere>& slots() const { return slots_; }
  // The root of a reduction that is not committed: null, or what makes the object here, or a part of
  // it. The newest: one that was dropped may take a moment to end.
  std::shared_ptr<Slot> target() const;
  // A reduction that was to make it gave up: how often, and why the last time.
  void Abort(Error why) {
    abort_ = std::move(why);
    ++aborts_;
  }
  std::uint64_t aborts() const { return aborts_; }
  const std::optional<Error>& abort() const { return abort_; }

  // --- calls that wait for a change of it, in the order of their coming
  std::uint64_t Enter(Call& call) {
    waiters_.emplace(waited_, &call);
    return waited_++;
  }
  void Leave(std::uint64_t number) { waiters_.erase(number); }
  std::size_t waiting() const { return waiters_.size(); }
  // Somebody's look at the world may have changed: all waiters look again.
  void Changed() {
    for (const auto& [number, call] : waiters_) call->changed.Notify();
  }

  // Nothing is under way, nobody waits, and there is nothing to remember.
  bool idle(Time now) const;
  // Whatever refers to this entry is let go.
  void Clear();

 private:
  Deletion deletion_;
  Followers followers_;
  Expectations expectations_;
  bool ever_owned_ = false;
  std::shared_ptr<Publication> publication_;
  std::optional<std::uint64_t> put_waits_for_;
  std::string put_name_;
  planner::Withdrawal withdrawal_;
  std::shared_ptr<Flight> flight_;
  std::shared_ptr<ReadBack> read_back_;
  std::weak_ptr<store::Copy> inlined_;
  int outgoing_ = 0;
  protocol::Loss loss_;
  std::shared_ptr<Coordinator> coordinator_;
  std::map<std::uint32_t, SlotHere> slots_;
  std::uint64_t aborts_ = 0;
  std::optional<Error> abort_;
  std::map<std::uint64_t, Call*> waiters_;
  std::uint64_t waited_ = 0;  // numbers them
};
using EntryPtr = std::shared_ptr<ObjectEntry>;

// While it lives, and unless the number is 0, a call relies on an owner of the object.
class Expecting {
 public:
  Expecting(EntryPtr entry, std::uint64_t number) : entry_(std::move(entry)), number_(number) {
    if (number_ != 0) entry_->expectations().Add(number_);
  }
  ~Expecting() { entry_->expectations().Remove(number_); }
  Expecting(const Expecting&) = delete;
  Expecting& operator=(const Expecting&) = delete;

  bool disappointed() const { return entry_->expectations().disappointed(number_); }

 private:
  const EntryPtr entry_;
  const std::uint64_t number_;
};

// While it lives, the call is woken by every change of the entry.
class WaitingCall {
 public:
  WaitingCall(EntryPtr entry, CallPtr call)
      : entry_(std::move(entry)), call_(std::move(call)), number_(entry_->Enter(*call_)) {}
  ~WaitingCall() { entry_->Leave(number_); }
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
