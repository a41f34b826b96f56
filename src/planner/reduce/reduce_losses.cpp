// ReducePlanner: what a lost slot tells of its sources and its node, and whether it ends the plan. See
// docs/protocol.md, R29, R45, R64 and R68.
#include <algorithm>
#include <utility>

#include "planner/reduce/reduce_planner.h"

namespace hoplite::planner {
namespace {

// A slot that failed tells nothing certain about its sources; they are left alone for so long.
constexpr Duration kSuspicion = std::chrono::seconds(1);

bool MeansGone(ErrorCode code) {
  return code == ErrorCode::kDeleted || code == ErrorCode::kNotFound ||
         code == ErrorCode::kRecalled;
}

}  // namespace

// What the slot was made of is not used any more; it is filled, or vacated, by the next Plan.
void ReducePlanner::OnSlotLost(const SlotLost& lost, Time now) {
  now_ = std::max(now_, now);
  peers_.Advance(now_);
  if (lost.slot == 0 || lost.slot > plan_.slots.size() || failure_) return;
  const PlannedSlot& planned = plan_.slots.at(lost.slot);
  if (planned.attempt != lost.attempt || planned.vacant()) return;
  if (lost.code == ErrorCode::kInvalidArgument) {
    failure_ = Error(lost.code, lost.message);
    return;
  }
  NoteLoss(lost);
  if (lost.receiver != kNoNode && OnBlocked(lost)) return;
  if (plan_.bridges.contains(lost.slot) && OnBridgeLost(lost)) return;
  const bool no_memory = lost.code == ErrorCode::kResourceExhausted;
  // One that only folds for others goes elsewhere, whatever was wrong.
  const bool only_folds = planned.picks.empty() && lost.slot != plan_.pinned;
  if (plan_.by_stripes && no_memory) {
    OnPoorMember(planned.order.node);
  } else if (no_memory || only_folds) {
    OnPoor(planned, lost);
  }
  GiveUp(planned, lost);
  if (plan_.by_stripes) {
    EndPlan();
  } else {
    plan_.slots.Vacate(lost.slot);
  }
}

// What else is lost while two can't connect is often lost since another has to stand for one of them.
void ReducePlanner::NoteLoss(const SlotLost& lost) {
  last_loss_ = lost.message;
  if (lost.receiver != kNoNode) {
    pair_loss_ = lost.message;
  } else if (plan_.bridges.contains(lost.slot)) {
    last_loss_ = pair_loss_ + "; between the two, " + lost.message;
  } else if (peers_.AnyBlocked()) {
    last_loss_ = pair_loss_ + "; also, " + lost.message;
  }
}

// The plan ends: whatever was planned, those two are neighbours nowhere. But the source is fine. If
// there was no way around, the two try again when the pause is over. False: it was tried enough.
bool ReducePlanner::OnBlocked(const SlotLost& lost) {
  if (lost.third != kNoNode) peers_.AddThird(lost.third);
  const auto until = peers_.NoteBlocked(lost.receiver, plan_.slots.at(lost.slot).order.node);
  if (!peers_.MayGoAround()) return false;
  if (until && planned_) peers_.RestUntil(*until);
  EndPlan();
  return true;
}

// Another may stand between the two.
bool ReducePlanner::OnBridgeLost(const SlotLost& lost) {
  if (!peers_.MayGoAround()) return false;
  const PlannedSlot& bridge = plan_.slots.at(lost.slot);
  peers_.DropThird(bridge.order.node);
  peers_.KeepApart(plan_.slots.at(bridge.parent).order.node, bridge.order.node);
  EndPlan();
  return true;
}

// What follows is a tree, which needs less memory, and of some nodes none.
void ReducePlanner::OnPoorMember(NodeId node) {
  peers_.NotePoor(node);
  planned_by_stripes_ = kMostPlansByStripes;
}

// Its sources are served as they are from now on, and another folds them. If there is no other, all
// are asked once more after a while; but what never fits was answered at once.
void ReducePlanner::OnPoor(const PlannedSlot& planned, const SlotLost& lost) {
  peers_.NotePoor(planned.order.node);
  peers_.BeginPatience();
  if (lost.slot != plan_.pinned && !peers_.IsPoor(peers_.WithMemory(sources_))) return;
  if (lost.code == ErrorCode::kResourceExhausted && peers_.IsForGood(planned.said_at)) {
    failure_ = Error(lost.code, lost.message);
    return;
  }
  peers_.AskAllAgain();
}

// Which of several is at fault isn't said, but its own shard tells where it is no more: if that was
// told already, the others have no part in it.
void ReducePlanner::GiveUp(const PlannedSlot& planned, const SlotLost& lost) {
  const bool gone = MeansGone(lost.code);
  const bool told = gone && LacksOne(planned);
  // Who needs none and says so all the same would say so again at once.
  const bool no_memory =
      lost.code == ErrorCode::kResourceExhausted && !plan_.slots.NeedsNoMemory(lost.slot);
  for (std::size_t i = 0; i < planned.picks.size(); ++i) {
    const SourceIndex pick = planned.picks[i];
    const Version version = planned.order.inputs[i].version;
    if (gone && planned.picks.size() == 1) {
      sources_.RemoveVersion(pick, planned.order.node, version);
    } else if (!told && !no_memory) {
      sources_.Suspect(pick, planned.order.node, version, now_ + kSuspicion);
    }
    GiveBack(pick);
  }
}

bool ReducePlanner::LacksOne(const PlannedSlot& planned) const {
  for (std::size_t i = 0; i < planned.picks.size(); ++i) {
    const Version version = planned.order.inputs[i].version;
    if (!sources_.Holds(planned.picks[i], planned.order.node, version)) return true;
  }
  return false;
}

// More slots of it may be reported lost before it is replaced, and tell of more sources that are not
// to be used.
void ReducePlanner::EndPlan() {
  if (!std::exchange(planned_, false)) return;
  batch_since_ = came_at_ = now_;
  for (const PlannedSlot& planned : plan_.slots.all()) {
    for (const SourceIndex pick : planned.picks) GiveBack(pick);
  }
}

}  // namespace hoplite::planner
