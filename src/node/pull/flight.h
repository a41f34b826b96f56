// Flight: one object on its way to this node, however many wait for it.
//
//   locate ---> reserve memory, wait for a place ---> want ---> grants, lanes ---> final
//     ^                                                |
//     '---------- recalled: a newer version, new memory, from the start
//
// An object that is larger than the store comes through a window, for one reader (R38): then this
// node is a leaf, which the shard sends nobody to.
//
// Decides: when to ask the shard, when to give up, resume or restart. Is told: the shard's actions,
// the ends of its lanes, who is still interested. Must never: combine bytes of two versions, open a
// new source for a stripe before the old one was closed, or call a copy final without END. Main
// loop only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/context.h"
#include "node/streams/data_plane.h"
#include "node/streams/receive_lane.h"

namespace hoplite::node {

class Flight : public std::enable_shared_from_this<Flight> {
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
  void Start();  // once; later calls join what is under way
  // Somebody among those who wait could read through a window.
  void AskForWindow() { window_asked_ = true; }

  // A reduction depends on it.
  void Hurry() {
    hurries_ = true;
    changed_.Notify();
  }

  // What the shard says.
  void OnLocated(planner::Located located);
  void OnInline(planner::InlineObject object);
  void OnGrant(planner::Grant grant);
  void OnRecall(Version below);
  void OnDeleted();
  // Whoever was to make the object gave up.
  void OnAborted(Error error);
  // A local Put was accepted: this flight has nothing left to do.
  void Supersede();
  // The shard had lost this node: its streams end, its bytes stay, it asks for the rest again.
  void OnLost();
  void Stop(const Error& why);
  // Streams that this copy feeds came or went.
  void OutgoingChanged() { changed_.Notify(); }

  // The copy as soon as memory for it is reserved; null before.
  const store::CopyPtr& copy() const { return copy_; }
  // The copy will be dropped, although it may still be there.
  bool leaves() const { return leaves_ || over_ || recalled_; }
  // The object is larger than the store: whoever can't read through a window is told why not.
  bool is_leaf() const { return too_large_ && !recalled_; }
  const Error& too_large() const { return *too_large_; }
  // How much memory it waits for; none: it does not.
  const std::optional<std::uint64_t>& awaited_memory() const { return awaited_memory_; }
  // The window for its one reader; null: not there yet, or given.
  store::CopyPtr TakeWindow();
  bool window_given() const { return window_given_; }
  bool done() const { return done_; }
  // After done: null if the flight ended without a copy (then look at the world again), else the
  // error or the copy that every waiter may return.
  const std::optional<Result<store::CopyPtr>>& result() const { return result_; }
  // What it is doing now, for the message of a deadline.
  std::string Waiting() const;
  // Open requests and upstream, for the inventory.
  bool locating() const { return stage_ == Stage::kLocating; }
  std::optional<planner::Want> OpenWant() const;
  NodeId upstream() const;
  // It waits for a place, although others depend on it (R46): for tests, never so between turns.
  bool held_up() const {
    return stage_ == Stage::kQueued && place_ && place_->waits() && depended_on() && !interrupted();
  }

 private:
  // A fetch that gets nothing for so long lets another one go (R46).
  static constexpr Duration kPlaceKept = std::chrono::milliseconds(500);

  enum class Stage { kLocating, kReserving, kQueued, kReceiving, kOver };

  // The lanes of one grant, and how they ended.
  struct GrantLanes {
    planner::Grant grant;
    std::vector<std::shared_ptr<ReceiveLane>> lanes;
    std::size_t ended = 0;
    LaneEnd end;
  };

  net::Task<void> Fly();
  net::Task<bool> LocateObject();
  net::Task<bool> ReserveMemory();
  net::Task<Result<store::CopyPtr>> AwaitMemory(Layout layout, std::string metadata);
  net::Task<void> AwaitPlace();
  net::Task<Result<store::CopyPtr>> TakeInline();
  net::Task<void> ReceiveAll();
  bool GoesAtOnce() const;
  void KeepOrLendPlace();
  net::Task<void> StopLanes();
  bool IsWhole() const;
  void AskAgainIfDue();
  void StartDueGrants();
  void StartLanes(planner::Grant grant);
  void OnLaneEnd(const std::shared_ptr<GrantLanes>& granted, const LaneEnd& end);
  void CloseEndedGrants();
  void ReportProgress();
  void TellProgress(StripeMarks marks, Duration starved) const;
  planner::Want Wanting() const;
  std::string NoRoom() const;
  bool ReaderStalls();
  void Complete();
  void DropCopy(store::VoidReason reason);
  void Finish(std::optional<Result<store::CopyPtr>> result);
  bool depended_on() const { return hurries_ || entry_->outgoing > 0; }
  bool wanted() const { return interest_ > 0 || (entry_->outgoing > 0 && !too_large_); }
  bool interrupted() const { return over_ || recalled_ || !wanted(); }

  Context& context_;
  DataPlane& data_plane_;
  const EntryPtr entry_;
  net::Signal changed_;

  Stage stage_ = Stage::kLocating;
  bool started_ = false;
  int interest_ = 0;
  bool over_ = false;  // deleted, superseded or stopped: no more of it
  bool deleted_ = false;
  bool recalled_ = false;  // a newer version exists: once more from the start
  bool leaves_ = false;    // nobody wanted it any more, and its streams were told
  bool regrant_ = false;   // asks again when the streams have ended
  bool hurries_ = false;
  bool window_asked_ = false;
  bool window_given_ = false;
  bool done_ = false;
  std::optional<Error> error_;
  std::optional<Error> too_large_;
  std::optional<std::uint64_t> awaited_memory_;
  std::optional<Result<store::CopyPtr>> result_;

  std::optional<planner::Located> located_;
  std::optional<planner::InlineObject> inline_;
  store::CopyPtr copy_;
  std::optional<FlightGate::Place> place_;
  std::deque<planner::Grant> grants_;  // told, not yet started
  std::vector<std::shared_ptr<GrantLanes>> granted_;
  bool end_seen_ = false;  // END(final), on any lane
  StripeMarks reported_marks_;
  Time reported_at_{};
  std::uint64_t received_ = 0;  // when last looked at
  Time received_at_{};          // when that grew
  std::uint64_t read_ = 0;      // by the reader of a window, when last looked at
  Time read_at_{};              // when that grew, or nothing more lay ready
};

}  // namespace hoplite::node
