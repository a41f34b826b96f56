// Flight: one object on its way to this node, however many wait for it.
//
// planner::FlightState decides what is said to the shard and which streams begin and end; this
// gives it memory, a turn, lanes and the time, and carries out what it decides.
//
// An object that is larger than the store comes through a window, for one reader (R38): then this
// node is a leaf, which the shard sends nobody to.
//
// A root of a reduction that makes a part of its target has a flight fetch the rest into its output
// (R64). Such a flight lives for this version only, whoever waits; but once that is committed it goes
// on until the copy is whole, whether anybody waits or not.
//
// Decides: whether somebody still wants it, and what those who wait are answered. Is told: the
// shard's actions, the ends of its lanes, who is still interested. Must never: combine bytes of two
// versions, or drop memory that a lane still writes to. Main loop only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "node/core/context.h"
#include "node/core/wait_reason.h"
#include "node/pull/arrival.h"
#include "node/streams/data_plane.h"
#include "node/streams/receive_lane.h"
#include "planner/node/flight_state.h"

namespace hoplite::node {

class Subscription;

class Flight : public std::enable_shared_from_this<Flight>, private store::CopyListener {
 public:
  // The flight goes on while at least one Interest lives, or while it feeds others.
  class Interest {
   public:
    explicit Interest(std::shared_ptr<Flight> flight) : flight_(std::move(flight)) {
      ++flight_->interest_;
    }
    ~Interest() {
      if (--flight_->interest_ == 0) flight_->changed_.Notify();
    }
    Interest(const Interest&) = delete;
    Interest& operator=(const Interest&) = delete;

   private:
    std::shared_ptr<Flight> flight_;
  };

  Flight(Context& context, DataPlane& data_plane, EntryPtr entry);
  ~Flight() override;
  void Start();  // once; later calls join what is under way
  // Before that: this copy is here, and listed; some of its stripes are made here, the rest it gets.
  void Adopt(store::CopyPtr copy);
  // Somebody among those who wait could read through a window.
  void AskForWindow() { window_asked_ = true; }

  // Somebody who waits relies on an owner (Expectations).
  void Expect();
  // A reduction depends on it.
  void Hurry() {
    hurries_ = true;
    changed_.Notify();
  }

  // What the shard says.
  void OnLocated(const protocol::Located& located);
  void OnInline(protocol::InlineObject object);
  // Another node hands the object on (R83).
  void OnHandedOn(protocol::InlineObject object);
  void OnGrant(const protocol::Grant& grant);
  void OnRecall(Version below);
  void OnDeleted();
  // Whoever was to make the object gave up.
  void OnAborted(Error error);
  // Whether it waits for what this ends.
  bool EndsBy(const protocol::TargetAborted& aborted) const { return state_->Ends(aborted); }
  // A local Put was accepted, or a slot makes the object here; or the slot whose output it adopted
  // gave up. This flight has nothing left to do.
  void Supersede();
  // What it adopted is of a reduction that is committed.
  void OnCommitted();
  // Nobody has a whole copy any more. What was adopted, and committed, goes unless it is waited for
  // here: those who have parts of it would feed each other for ever.
  void OnHolderLost();
  // The shard had lost this node: its streams end, its bytes stay, it asks for the rest again.
  void OnLost();
  void Stop(const Error& why);
  // Streams that this copy feeds came or went.
  void OutgoingChanged() { changed_.Notify(); }

  // The copy as soon as memory for it is reserved; null before.
  const store::CopyPtr& copy() const { return copy_; }
  // The copy will be dropped, although it may still be there.
  bool leaves() const { return leaves_ || over_ || state_->recalled(); }
  // The object is larger than the store: whoever can't read through a window is told why not.
  bool is_leaf() const { return too_large_ && !state_->recalled(); }
  const Error& too_large() const { return *too_large_; }
  // How much memory it waits for; none: it does not.
  const std::optional<std::uint64_t>& awaited_memory() const { return awaited_memory_; }
  // The window for its one reader; null: not there yet, or given.
  store::CopyPtr TakeWindow();
  bool window_given() const { return window_given_; }
  // It takes nothing up any more: what it waits for still are the ends of its streams. Its result is
  // not for calls that come now.
  bool over() const { return over_; }
  bool done() const { return done_; }
  // After done: null if the flight ended without a copy (then look at the world again), else the
  // error or the copy that every waiter may return.
  const std::optional<Result<store::CopyPtr>>& result() const { return result_; }
  // That have arrived, if it has memory.
  std::uint64_t bytes() const { return copy_ ? copy_->layout().valid_bytes(copy_->marks()) : 0; }
  // What it is doing now, for the message of a deadline. `said`: what its shard says of this node's
  // wait; empty: nothing.
  std::string Waiting(const std::string& said = "") const;
  // The memory or the turn of this node that it waits for, in words; empty: for neither.
  std::string WaitingHere() const;
  // The same in one word.
  WaitReason wait_reason() const;
  // Nobody serves it, and its shard may know why.
  bool unserved() const;
  // Of its first stream; nobody: it has none.
  NodeId source() const { return granted_.empty() ? kNoNode : granted_.front()->grant.source.id; }
  // What comes from it lately, none before that can be judged; what the link of this node carries, or
  // carried, as far as it is measured; and of that what comes to this node now, from whom ever.
  std::optional<std::uint64_t> bytes_per_second() const {
    return arrival_.Settled(Now()) ? std::optional(arrival_.BytesPerSecond(Now())) : std::nullopt;
  }
  struct LinkRate {
    std::uint64_t bytes_per_second = 0;
    Time at = kNever;  // when it was so
  };
  LinkRate link() const;
  std::uint64_t arriving() const;
  // By other streams than this one's.
  bool others_arrive() const;
  // Open requests and upstreams, for the inventory.
  std::optional<protocol::Want> OpenWant() const { return state_->OpenWant(Marks()); }
  std::optional<protocol::Locate> OpenLocate() {
    asked_at_ = NowSinceBoot();
    return state_->OpenLocate(entry_->expectations().newest());
  }
  std::vector<protocol::Upstream> TellUpstreams() { return state_->TellUpstreams(); }
  // It waits for its turn, although others depend on it (R46): for tests, never so between steps.
  bool held_up() const {
    return turn_ && turn_->waits() && (hurries_ || entry_->outgoing() > 0) && !interrupted();
  }

 private:
  // The lanes of one grant, and how they ended.
  struct GrantLanes {
    protocol::Grant grant;
    std::vector<std::shared_ptr<ReceiveLane>> lanes;
    LinkRate link_before;  // what this node's link carried when it began
    std::size_t ended = 0;
    LaneEnd end;
  };

  net::Task<void> Fly();
  net::Task<bool> LocateObject();
  planner::Question NextQuestion();
  void LoseRoom();
  void UseRoom(planner::FlightState::Effects& effects);
  net::Task<bool> ReserveMemory();
  Result<void> Keep(store::CopyPtr copy, bool leaf);
  net::Task<Result<store::CopyPtr>> AwaitMemory(Layout layout, std::string metadata);
  net::Task<void> AwaitTurn();
  void Follow(std::optional<Subscription>& watch);
  net::Task<Result<store::CopyPtr>> TakeInline();
  void Answer(protocol::InlineObject object);
  bool TakeGiven();
  net::Task<void> ReceiveAll();
  void KeepOrLendTurn(const StripeMarks& marks);
  net::Task<void> Leave();
  bool Step(const StripeMarks& marks);
  void Carry(const planner::FlightState::Effects& effects);
  void StartLanes(const protocol::Grant& grant);
  void StopLanes(const GrantId& grant);
  std::string WhyFailed(const LaneEnd& end) const;
  std::string From(const GrantLanes& granted) const;
  void OnLaneEnd(const std::shared_ptr<GrantLanes>& granted, const LaneEnd& end);
  // The shard hears once that this node fetches other objects, too.
  void JoinIfSeveral();
  void ReportProgress(const StripeMarks& marks);
  void TellProgress(const StripeMarks& marks, Duration starved) const;
  StripeMarks Marks() const { return copy_ ? copy_->marks() : StripeMarks(); }
  std::string NoRoom() const;
  bool vouched() const;
  bool ReaderStalls(const StripeMarks& marks);
  void Complete();
  void DropCopy(store::VoidReason reason);
  void OnCopyChanged() noexcept override;  // the copy that it adopted, on any thread
  bool adopted() const { return copy_ && copy_->made_here() != 0; }
  void Finish(std::optional<Result<store::CopyPtr>> result);
  bool wanted() const {
    return interest_ > 0 || committed_ || (entry_->outgoing() > 0 && !too_large_ && !bereft_);
  }
  bool interrupted() const { return over_ || state_->recalled() || !wanted(); }

  Context& context_;
  DataPlane& data_plane_;
  const EntryPtr entry_;
  const std::unique_ptr<planner::FlightState> state_;
  net::Signal changed_;

  bool started_ = false;
  Time asked_at_{};    // when the shard was last told what is sought, since boot
  Time located_at_{};  // when the shard had said where the object is, or it was begun here
  int interest_ = 0;
  bool over_ = false;       // deleted, superseded or stopped: no more of it
  bool committed_ = false;  // what it adopted
  bool bereft_ = false;     // that was committed, and nobody has all of it any more
  bool leaves_ = false;     // nobody wanted it any more, and its streams were told
  bool hurries_ = false;
  bool window_asked_ = false;
  bool window_given_ = false;
  bool done_ = false;
  std::optional<Error> error_;
  std::optional<Error> too_large_;
  std::optional<std::uint64_t> awaited_memory_;
  std::optional<Result<store::CopyPtr>> result_;

  std::unique_ptr<Rooms::Room> room_;  // only while it asks
  std::optional<protocol::InlineObject> inline_;
  protocol::InlineBytes given_;  // all bytes of what it receives
  store::CopyPtr copy_;
  std::optional<FlightGate::Turn> turn_;
  std::vector<std::shared_ptr<GrantLanes>> granted_;  // under way
  std::string last_failure_;                          // why the last of them brought nothing more
  Arrival arrival_;
  StripeMarks reported_marks_;
  Time reported_at_{};
};

}  // namespace hoplite::node
