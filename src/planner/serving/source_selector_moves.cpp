// How a receiver that is being fed comes to another source: another takes its place, or it starves,
// or somebody passes it.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "planner/serving/source_selector.h"

namespace hoplite::planner {
namespace {

// How many receivers behind are tried for their source.
constexpr int kTakeOverTries = 16;
// So many of those that have least are looked at.
constexpr int kFreshLooks = 64;

}  // namespace

bool SourceSelector::TakeOver(NodeId receiver, StripeMask need) {
  if (!rules_.takes_over) return false;
  const auto& feeding = table_.feeding(group_);
  // Those that stand as it does can't be passed, however many they are.
  ProgressKey own = table_.KeyOfProgress(group_, receiver, *table_.Find(receiver));
  own.nearer = 0;
  own.node = kNoNode;
  auto behind = feeding.lower_bound(own);
  for (int tries = 0; tries < kTakeOverTries && behind != feeding.begin(); ++tries) {
    --behind;
    if (TakeOverFrom(receiver, need, behind->node)) return true;
  }
  return false;
}

// Who was moved for a newcomer does not take the place back.
bool SourceSelector::MayPass(std::size_t group, NodeId receiver, NodeId behind) const {
  const Copy& copy = *table_.Find(receiver);
  const Copy& other = *table_.Find(behind);
  const StripeMask stripes = table_.stripes(group);
  const bool ring =
      turns_[group].in_a_line && rules_.fresh > Duration{0} && table_.group_count() == 1;
  if (ring && table_.DistanceOf(group, behind) < table_.DistanceOf(group, receiver) &&
      copy.progress(stripes) <= other.progress(stripes) + turns_[group].lead) {
    return false;
  }
  return other.progress(stripes) < copy.progress(stripes) ||
         table_.SlotOf(other) > table_.SlotOf(copy);
}

// Where holders serve one receiver each, the line of those who have less than half is that of the
// ring; in a tree a place is not worth a move. Until the newcomer has what the one behind got before,
// that one waits, while other objects use its links. The books are as old as its last report, so it
// must have been granted lately, too.
bool SourceSelector::TakeFreshPlace(NodeId receiver, StripeMask need) {
  if (!turns_[group_].in_a_line || rules_.fresh == Duration{0}) return false;
  NodeId nearest = kNoNode;
  int looks = 0;
  for (const ProgressKey& key : table_.feeding(group_)) {
    if (key.progress > turns_[group_].lead || ++looks > kFreshLooks) break;
    if (!IsFresh(group_, receiver, key.node)) continue;
    const std::uint64_t distance = table_.DistanceOf(group_, key.node);
    if (nearest == kNoNode || distance < table_.DistanceOf(group_, nearest)) nearest = key.node;
  }
  return nearest != kNoNode && TakeOverFrom(receiver, need, nearest, Ahead::kSoon);
}

bool SourceSelector::IsFresh(std::size_t group, NodeId receiver, NodeId behind) const {
  const Copy& other = *table_.Find(behind);
  return turns_[group].in_a_line && other.progress(table_.stripes(group)) <= turns_[group].lead &&
         rules_.now - other.place(group).granted < rules_.fresh &&
         other.slot == table_.Find(receiver)->slot &&
         table_.DistanceOf(group, behind) >= table_.DistanceOf(group, receiver);
}

bool SourceSelector::PutInRingOrder() {
  TurnTo(0);
  if (rates_ || table_.group_count() > 1 || !turns_[group_].in_a_line) return false;
  const std::vector<NodeId> line = FreshLine();
  bool moves = false;
  std::map<NodeId, NodeId> last;  // of the line that begins at this holder
  for (const NodeId receiver : line) {
    const NodeId head = HeadOf(receiver, line);
    const NodeId source = last.emplace(head, head).first->second;
    last[head] = receiver;
    const OpenGrant* open = FirstGrant(receiver);
    if (open == nullptr || open->source == source) continue;
    moves = true;
    MoveBehind(receiver, source);
  }
  return moves;
}

std::vector<NodeId> SourceSelector::FreshLine() const {
  std::vector<NodeId> line;
  for (const ProgressKey& key : table_.feeding(group_)) {
    if (key.progress > turns_[group_].lead || line.size() == kFreshLooks) break;
    if (rules_.now - place(key.node).granted < rules_.fresh) line.push_back(key.node);
  }
  std::ranges::sort(line, {}, [&](NodeId node) { return table_.DistanceOf(group_, node); });
  return line;
}

NodeId SourceSelector::HeadOf(NodeId receiver, const std::vector<NodeId>& line) const {
  NodeId at = receiver;
  for (std::size_t steps = 0; steps < line.size(); ++steps) {
    if (std::ranges::find(line, at) == line.end()) break;
    const Copy& copy = *table_.Find(at);
    at = copy.feed(static_cast<std::size_t>(std::countr_zero(copy.fed() & stripes_))).source;
  }
  return at;
}

void SourceSelector::MoveBehind(NodeId receiver, NodeId source) {
  const OpenGrant& open = *FirstGrant(receiver);
  const Copy& copy = *table_.Find(receiver);
  if (open.leaf || open.stripes != copy.fed() || copy.superseded()) return;
  if (table_.Find(source) == nullptr || !HasRoom(source, open.stripes, true)) return;
  if (Eligible(receiver, source, open.stripes, Ahead::kSoon) != open.stripes) return;
  Move(receiver, {source, open.stripes}, MoveReason::kOrder);
}

bool SourceSelector::TakeOverFrom(NodeId receiver, StripeMask need, NodeId behind, Ahead ahead) {
  const Feed& feed = table_.Find(behind)->feed(std::countr_zero(need));
  if (!feed.grant) return false;
  const OpenGrant taken = table_.grants().at(feed.grant);
  const GrantId old = feed.grant;
  if (taken.adopted || taken.leaf) return false;
  if (!MayTakeOver(group_, receiver, need, behind, taken, ahead)) return false;
  // In its other groups, too, where they stand like this; the rest it gets as before.
  StripeMask moved = taken.stripes & stripes_;
  StripeMask wanted = need;
  table_.ForGroups(taken.stripes & ~stripes_, [&](std::size_t group, StripeMask part) {
    const StripeMask wants = table_.Find(receiver)->parked() & table_.stripes(group);
    if (wants == 0 || !MayTakeOver(group, receiver, wants, behind, taken, ahead)) return;
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

bool SourceSelector::MayTakeOver(std::size_t group, NodeId receiver, StripeMask need, NodeId behind,
                                 const OpenGrant& taken, Ahead ahead) const {
  const StripeMask part = taken.stripes & table_.stripes(group);
  if ((need & ~part) != 0 || !HasRoom(receiver, part)) return false;
  const bool passes =
      ahead == Ahead::kSoon ? IsFresh(group, receiver, behind) : MayPass(group, receiver, behind);
  return passes && Eligible(receiver, taken.source, need) == need &&
         Eligible(behind, receiver, part, ahead) == part;
}

void SourceSelector::MoveStarved(NodeId receiver) {
  std::set<GrantId> seen;
  for (std::size_t group = 0; group < table_.group_count(); ++group) {
    TurnTo(group);
    const GrantId first = FirstGrantId(receiver);
    if (!first || !seen.insert(first).second) continue;
    // Also what a predecessor of this shard granted: its source may be cut off from all others (R68).
    const OpenGrant& open = table_.grants().at(first);
    const std::uint32_t limit = open.leaf ? kAnyUnits : units();
    Replace(receiver, FindFinal(receiver, open.stripes, limit), MoveReason::kStarved);
  }
}

bool SourceSelector::MoveTo(NodeId receiver, NodeId source) {
  TurnToFirst(receiver);
  const OpenGrant* open = FirstGrant(receiver);
  if (open == nullptr || table_.Find(source) == nullptr) return false;
  if (!HasRoom(source, open->stripes & stripes_, true)) return false;
  if (MayServe(receiver, source, open->stripes, true) != open->stripes) return false;
  return Replace(receiver, Choice{source, open->stripes}, MoveReason::kTrial);
}

bool SourceSelector::MoveIntoLine(NodeId receiver, NodeId first) {
  TurnToFirst(receiver);
  const GrantId first_grant = FirstGrantId(receiver);
  if (!first_grant) return false;
  const StripeMask need = table_.grants().at(first_grant).stripes;
  NodeId source = first;
  for (std::size_t steps = 0; steps < table_.copies().size(); ++steps) {
    const NodeId behind = FirstBehind(source, table_);
    if (MayStandBetween(source, receiver, behind, need)) {
      Replace(receiver, Choice{source, need}, MoveReason::kTrial);
      if (behind != kNoNode) Replace(behind, Choice{receiver, need}, MoveReason::kTrial);
      return true;
    }
    if (behind == kNoNode || behind == receiver) return false;
    source = behind;
  }
  return false;
}

bool SourceSelector::MayStandBetween(NodeId source, NodeId receiver, NodeId behind,
                                     StripeMask need) const {
  if (Eligible(receiver, source, need) != need) return false;
  if (behind == kNoNode) return HasRoom(source, need);
  const GrantId grant = FirstGrantId(behind);
  if (!grant) return false;
  const OpenGrant& next = table_.grants().at(grant);
  return next.source == source && next.stripes == need && HasRoom(receiver, need) &&
         Eligible(behind, receiver, need) == need;
}

bool SourceSelector::MoveBehindOthers(NodeId receiver) {
  TurnToFirst(receiver);
  const GrantId grant = FirstGrantId(receiver);
  if (!grant) return false;
  const StripeMask need = table_.grants().at(grant).stripes;
  return Replace(receiver, FindFree(receiver, need, units()), MoveReason::kSlow);
}

void SourceSelector::LeaveHome(NodeId slow) {
  const SmallSet<GrantId> serving = table_.Find(slow)->flow().serving;
  table_.SetHome(slow, kServesNobody);
  for (const GrantId grant : serving) GrantElsewhere(grant);
}

bool SourceSelector::GrantElsewhere(GrantId grant) {
  const OpenGrant open = table_.grants().at(grant);
  if (open.leaf || open.adopted) return false;
  std::vector<Choice> choices;
  StripeMask found = 0;
  table_.ForGroups(open.stripes, [&](std::size_t group, StripeMask part) {
    TurnTo(group);
    std::optional<Choice> choice = FindFree(open.receiver, part, units());
    if (!choice) choice = FindFree(open.receiver, part, one_more_receiver());
    if (!choice || choice->stripes != part) return;
    found |= part;
    choices.push_back(*choice);
  });
  if (found != open.stripes) return false;
  table_.Close(grant);
  for (const Choice& choice : choices) Grant(open.receiver, choice, grant, MoveReason::kSlow);
  return true;
}

void SourceSelector::TurnToFirst(NodeId receiver) {
  const StripeMask fed = table_.Find(receiver)->fed();
  const std::size_t group =
      fed == 0 ? group_ : table_.GroupOf(static_cast<std::uint32_t>(std::countr_zero(fed)));
  if (group != group_) TurnTo(group);
}

const OpenGrant* SourceSelector::FirstGrant(NodeId receiver) const {
  const GrantId grant = FirstGrantId(receiver);
  if (!grant) return nullptr;
  const OpenGrant& open = table_.grants().at(grant);
  return open.adopted ? nullptr : &open;
}

GrantId SourceSelector::FirstGrantId(NodeId receiver) const {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask fed = copy.fed() & stripes_;
  return fed == 0 ? GrantId{} : copy.feed(static_cast<std::size_t>(std::countr_zero(fed))).grant;
}

bool SourceSelector::Replace(NodeId receiver, const std::optional<Choice>& better, MoveReason why) {
  const GrantId old = FirstGrantId(receiver);
  const OpenGrant open = table_.grants().at(old);
  if (!better || better->source == open.source || better->stripes != open.stripes) return false;
  table_.Close(old);
  Grant(receiver, *better, open.adopted ? open.known_as : old, why);
  return true;
}

// Until the receiver has heard of it, it may still pull from its old source, or begin to: so long it
// counts as depending on both.
bool SourceSelector::Move(NodeId receiver, const Choice& better, MoveReason why) {
  const GrantId old = FirstGrantId(receiver);
  const NodeId source = table_.grants().at(old).source;
  if (!Replace(receiver, better, why)) return false;
  table_.NoteMoved(decisions_.back().grant, old, source);
  return true;
}

}  // namespace hoplite::planner
