// Slot: this node executes one slot of a reduction, in one version.
//
// Decides nothing about it: planner::SlotState does, which is told what this class sees. It has the
// memory, the streams that pull the children's outputs, and the fold. Main loop only; bytes are
// folded on the data loops. A slot with one source of its own and no child serves that source
// itself: nothing is copied. The output of a root that makes a part of the target is a copy of the
// object like any: a flight, which the root begins, fetches the rest into it, and goes on when the
// root has ended with the commit.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/core/context.h"
#include "node/pull/flight.h"
#include "node/reduce/accumulator.h"
#include "node/streams/data_plane.h"
#include "node/streams/receive_lane.h"
#include "planner/node/slot_state.h"

namespace hoplite::node {

// How a wait of one for memory begins, in words.
inline constexpr std::string_view kPartWaits = "a part of it waits";

class Slot : public std::enable_shared_from_this<Slot>,
             private store::CopyListener,
             private MemoryBroker::Lender {
 public:
  Slot(Context& context, DataPlane& data_plane, EntryPtr entry, protocol::SlotAssigned order);
  ~Slot() override;
  void Start();  // once

  // What the shard says.
  void OnFeed(const protocol::SlotFeed& feed);
  void OnCommitted();
  // The parent asks for these stripes of the output; has all of them.
  void OnAsked(StripeMask stripes);
  void OnDrained(StripeMask stripes);
  // Not needed any more, or replaced by a newer version.
  void Drop(store::VoidReason reason);

  Version version() const { return state_->version(); }
  bool root() const { return state_->root(); }
  bool makes_all() const { return state_->makes_all(); }
  // For memory, in words; empty: it does not.
  std::string Waiting() const;
  bool waits_for_memory() const { return waiter_.has_value(); }
  // What a fetch of this slot is served from; null before there is memory for it.
  const store::CopyPtr& output() const { return output_; }
  // What the shard may have missed.
  void AppendInventory(std::vector<protocol::NodeEvent>& events) const;
  // An input's stream is due and was not begun (R46): for tests, never so between steps.
  bool held_up() const;

 private:
  // The streams that pull one child's output.
  struct Streams {
    std::uint32_t index = 0;  // of the child, in the accumulator
    std::vector<std::shared_ptr<ReceiveLane>> lanes{};
    std::size_t ended = 0;
    LaneEnd end{};
  };

  void OnCopyChanged() noexcept override;  // an own source grew, or ended
  bool Spares(const std::optional<ObjectId>& operation) const override;
  void GiveBack() override;
  net::Task<void> Run();
  Time Look();
  void Do(const planner::SlotState::Effects& effects);
  void Say(protocol::NodeEvent event) const;
  void Measure(protocol::NodeEvent& event) const;
  // Its sources and its output.
  void LookAtSources(planner::SlotState::Effects& effects);
  planner::OwnSource LookAtSource(std::size_t i);
  void TakeOutput(planner::SlotState::Effects& effects);
  Result<void> ListTarget();
  void FetchRest();
  bool Stays() const;
  bool OwnsOutput() const { return output_ && !state_->serves_source(); }
  net::Task<void> LetGo();
  void Release();
  // The fold.
  void BeginFold();
  void TellFeeds();
  net::Task<void> FoldOwnOn(std::size_t loop);
  planner::FoldProgress Folded() const;
  StripeMarks FoldedOf(const Streams& streams) const;
  std::size_t LoopOf(std::uint32_t stripe) const;
  StripeMask StripesOn(std::size_t loop) const;
  // slot_disk.cpp
  void UnpinSources();
  bool FindSources(planner::SlotState::Effects& effects);
  void OnSourceGone(const std::string& why, planner::SlotState::Effects& effects);
  void FoldFromDisk();
  net::Task<void> FoldFromDiskOn(std::size_t loop, std::uint32_t child, store::CopyPtr source,
                                 std::shared_ptr<net::Signal> wake);
  void OnSourceUnreadable(const ObjectId& source);
  // Streams of children.
  Streams& StreamsOf(std::uint32_t input);
  void StartStreams(const planner::SlotState::Effects::Pull& pull);
  std::function<void(StripeMask)> OnStripes(std::uint32_t input);
  void OnLaneEnd(std::uint32_t input, const LaneEnd& end);
  void CloseEndedStreams(planner::SlotState::Effects& effects);
  net::Task<void> StopStreams();
  bool Streaming() const;
  std::string Name() const;

  Context& context_;
  DataPlane& data_plane_;
  const EntryPtr entry_;
  const std::unique_ptr<planner::SlotState> state_;
  net::Signal changed_;

  std::vector<store::CopyPtr> sources_;  // as the order lists them; null until found
  std::optional<MemoryBroker::Waiter> waiter_;
  store::CopyPtr output_;
  std::shared_ptr<Flight> rest_;  // of a root that makes a part: fetches the others' stripes
  std::optional<Flight::Interest> interest_;             // in that
  std::shared_ptr<Accumulator> accumulator_;             // null: the source itself is served
  std::optional<MemoryBroker::Loan> loan_;               // of the output's memory
  std::map<std::uint32_t, Streams> streams_;             // by child
  std::vector<std::unique_ptr<net::Signal>> grown_;      // per data loop: own sources grew
  std::vector<std::shared_ptr<net::Signal>> from_disk_;  // of those who wait for the disk
  int folders_ = 0;
  std::atomic<bool> stopping_{false};
};

}  // namespace hoplite::node
