// Slot: this node executes one slot of a reduction, in one version.
//
//   reserve memory -> pull children, fold with own sources -> final -> (root: commit) -> dropped
//     ^                                                       |
//     '---- asked once more <---- memory given back <---------'
//
// It gives its memory back when somebody waits for some, if its parent has all of its output; or,
// to another slot of the same reduction, while it has produced nothing and lacks an input
// (R45).
//
// Decides: when to open a child's stream, when to try again, when to say that an input is lost. Is
// told: where its children's outputs are, the ends of its lanes, that it is not needed any more.
// Must never: fold an input twice, call its output final before every input's END, or, as the root,
// before the shard's commit. A slot with one source of its own and no child serves that source
// itself: nothing is copied. Main loop only; bytes are folded on the data loops.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/context.h"
#include "node/reduce/accumulator.h"
#include "node/streams/data_plane.h"
#include "node/streams/receive_lane.h"

namespace hoplite::node {

class Slot : public std::enable_shared_from_this<Slot>,
             private store::CopyListener,
             private MemoryBroker::Lender {
 public:
  Slot(Context& context, DataPlane& data_plane, EntryPtr entry, planner::SlotAssigned order);
  ~Slot() override;
  void Start();  // once

  // What the shard says.
  void OnFeed(const planner::SlotFeed& feed);
  void OnCommitted();
  // The parent asks for these stripes of the output; has all of them.
  void OnAsked(StripeMask stripes);
  void OnDrained(StripeMask stripes);
  // Not needed any more, or replaced by a newer version.
  void Drop(store::VoidReason reason);

  Version version() const { return order_.version; }
  bool root() const { return order_.order.parent == 0; }
  // What a fetch of this slot is served from; null before there is memory for it.
  const store::CopyPtr& output() const { return output_; }
  // What the shard may have missed.
  void AppendInventory(std::vector<planner::NodeEvent>& events) const;
  // An input's stream is due and was not begun (R46): for tests, never so between turns.
  bool held_up() const;

 private:
  // One child, and the streams that pull its output.
  struct Child {
    planner::SlotFeed feed;
    std::uint32_t index = 0;  // in the accumulator
    std::vector<std::shared_ptr<ReceiveLane>> lanes;
    std::vector<StripeMask> pending;  // what each lane pulls
    std::size_t ended = 0;
    LaneEnd end;
    StripeMask final_stripes = 0;  // END seen
    Time failing_since = kNever;
    std::uint64_t folded_when_failing = 0;  // blocks, at the last failure
    Time next_try = Time::min();
    bool reported = false;
  };

  void OnCopyChanged() noexcept override;  // an own source grew, or ended
  bool Spares(const std::optional<ObjectId>& operation) const override;
  void GiveBack() override;
  net::Task<void> Run();
  net::Task<bool> FindSources();
  net::Task<bool> ReserveMemory();
  bool ListTarget();
  net::Task<void> LetGo();
  bool drained() const { return drained_ == order_.layout.all_stripes(); }
  bool HasProduced() const;
  bool LacksAnInput() const;
  net::Task<void> FoldAll();
  net::Task<void> FoldOwnOn(std::size_t loop);
  bool Due(const Child& child) const;
  void StartDueStreams();
  void StartStreams(Child& child);
  void OnLaneEnd(std::uint32_t child, std::size_t lane, const LaneEnd& end);
  void CloseEndedStreams();
  void OnStreamsFailed(Child& child);
  std::uint64_t FoldedOf(const Child& child) const;
  planner::SlotFailed LossOf(const Child& child) const;
  net::Task<void> StopStreams();
  bool InputsFinal() const;
  void CheckSources();
  void Finish();
  void ReportProgress();
  void Fail(ErrorCode code, std::string message);
  planner::SlotFailed Failure(std::uint32_t input, Version input_version, ErrorCode code,
                              std::string message) const;
  planner::SlotProgress Progress() const;
  std::size_t LoopOf(std::uint32_t stripe) const;
  StripeMask StripesOn(std::size_t loop) const;
  Time NextTime() const;
  Duration ReportEvery() const;
  std::string Name() const;

  Context& context_;
  DataPlane& data_plane_;
  const EntryPtr entry_;
  const planner::SlotAssigned order_;
  net::Signal changed_;

  std::vector<store::CopyPtr> sources_;
  std::set<store::CopyPtr> sealed_;  // of them: seen final
  store::CopyPtr output_;
  std::shared_ptr<Accumulator> accumulator_;  // null: the source itself is served
  std::optional<MemoryBroker::Loan> loan_;    // of the output's memory
  Time reserved_at_{};
  bool gives_back_ = false;
  StripeMask drained_ = 0;
  std::map<std::uint32_t, Child> children_;
  std::vector<std::unique_ptr<net::Signal>> grown_;  // per data loop: own sources grew
  int folders_ = 0;
  std::atomic<bool> stopping_{false};
  bool dropped_ = false;
  bool final_ = false;
  bool committed_ = false;
  std::optional<planner::SlotFailed> failure_;
  Time reported_at_{};
};

}  // namespace hoplite::node
