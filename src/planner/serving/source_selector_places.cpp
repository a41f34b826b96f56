// How a receiver takes the place of another one, which then gets the bytes from it.
#include <bit>

#include "planner/serving/source_selector.h"

namespace hoplite::planner {
namespace {

// How many receivers behind are tried for their source.
constexpr int kTakeOverTries = 16;

}  // namespace

bool SourceSelector::TakePlace(NodeId receiver, StripeMask need) {
  const Copy& copy = *table_.Find(receiver);
  const bool has_some = copy.progress(sources_.stripes()) > 0;
  const NodeId fresh = has_some ? kNoNode : NearestFresh(receiver);
  if (fresh != kNoNode && TakePlaceOf(fresh, receiver, need, Ahead::kSoon)) return true;
  if (!rules_.takes_over) return false;
  const auto& feeding = table_.feeding(sources_.group());
  // Those that stand as it does can't be passed, however many they are.
  ProgressKey own = table_.KeyOfProgress(sources_.group(), receiver, copy);
  own.nearer = 0;
  own.node = kNoNode;
  auto behind = feeding.lower_bound(own);
  for (int tries = 0; tries < kTakeOverTries && behind != feeding.begin(); ++tries) {
    --behind;
    if (TakePlaceOf(behind->node, receiver, need, Ahead::kNow)) return true;
  }
  return false;
}

// Who was moved for a newcomer does not take the place back.
bool SourceSelector::MayPass(std::size_t group, NodeId receiver, NodeId behind) const {
  const Copy& copy = *table_.Find(receiver);
  const Copy& other = *table_.Find(behind);
  const StripeMask stripes = table_.stripes(group);
  const bool ring =
      sources_.turn(group).in_a_line && rules_.fresh > Duration{0} && table_.group_count() == 1;
  if (ring && table_.DistanceOf(group, behind) < table_.DistanceOf(group, receiver) &&
      copy.progress(stripes) <= other.progress(stripes) + sources_.turn(group).lead) {
    return false;
  }
  return other.progress(stripes) < copy.progress(stripes) ||
         table_.SlotOf(other) > table_.SlotOf(copy);
}

// Where holders serve one receiver each, the line of those who have less than half is that of the
// ring; in a tree a place is not worth a move. Until the newcomer has what the one behind got before,
// that one waits, while other objects use its links. The books are as old as its last report, so it
// must have been granted lately, too.
NodeId SourceSelector::NearestFresh(NodeId receiver) const {
  const std::size_t group = sources_.group();
  NodeId nearest = kNoNode;
  if (!sources_.turn().in_a_line || rules_.fresh == Duration{0}) return nearest;
  int looks = 0;
  for (const ProgressKey& key : table_.feeding(group)) {
    if (key.progress > sources_.turn().lead || ++looks > kFreshLooks) break;
    if (!IsFresh(group, receiver, key.node)) continue;
    const std::uint64_t distance = table_.DistanceOf(group, key.node);
    if (nearest == kNoNode || distance < table_.DistanceOf(group, nearest)) nearest = key.node;
  }
  return nearest;
}

bool SourceSelector::IsFresh(std::size_t group, NodeId receiver, NodeId behind) const {
  const Copy& other = *table_.Find(behind);
  return sources_.turn(group).in_a_line &&
         other.progress(table_.stripes(group)) <= sources_.turn(group).lead &&
         rules_.now - other.place(group).granted < rules_.fresh &&
         other.slot == table_.Find(receiver)->slot &&
         table_.DistanceOf(group, behind) >= table_.DistanceOf(group, receiver);
}

bool SourceSelector::TakePlaceOf(NodeId behind, NodeId receiver, StripeMask need, Ahead ahead) {
  const Feed& feed = table_.Find(behind)->feed(std::countr_zero(need));
  if (!feed.grant) return false;
  const OpenGrant taken = table_.grants().at(feed.grant);
  const GrantId old = feed.grant;
  if (taken.adopted || taken.leaf) return false;
  if (!MayTakePlace(sources_.group(), receiver, need, behind, taken, ahead)) return false;
  // In its other groups, too, where they stand like this; the rest it gets as before.
  StripeMask moved = taken.stripes & sources_.stripes();
  StripeMask wanted = need;
  table_.ForGroups(taken.stripes & ~sources_.stripes(), [&](std::size_t group, StripeMask part) {
    const StripeMask wants = table_.Find(receiver)->parked() & table_.stripes(group);
    if (wants == 0 || !MayTakePlace(group, receiver, wants, behind, taken, ahead)) return;
    moved |= part;
    wanted |= wants;
  });
  table_.Close(old);
  table_.ForGroups(wanted, [&](std::size_t group, StripeMask wants) {
    GrantIn(group, receiver, {taken.source, wants}, table_.Find(receiver)->superseded(wants));
    // Else the one behind could be made to wait again and again.
    const Time granted = place(group, behind).granted;
    table_.Edit(receiver,
                [&](Copy& copy) { copy.flows.Make().places.Make(group).granted = granted; });
  });
  Grant(behind, {receiver, moved}, old, MoveReason::kNewcomer);
  const StripeMask rest = taken.stripes & ~moved;
  if (rest != 0) Grant(behind, {taken.source, rest}, old, MoveReason::kNewcomer);
  return true;
}

bool SourceSelector::MayTakePlace(std::size_t group, NodeId receiver, StripeMask need,
                                  NodeId behind, const OpenGrant& taken, Ahead ahead) const {
  const StripeMask part = taken.stripes & table_.stripes(group);
  if ((need & ~part) != 0 || !sources_.HasRoom(receiver, part)) return false;
  const bool passes =
      ahead == Ahead::kSoon ? IsFresh(group, receiver, behind) : MayPass(group, receiver, behind);
  return passes && sources_.Eligible(receiver, taken.source, need) == need &&
         sources_.Eligible(behind, receiver, part, ahead) == part;
}

}  // namespace hoplite::planner
