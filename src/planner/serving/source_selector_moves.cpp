// How a receiver that is being fed comes to another source: it starves, somebody passes it, or it
// matters who stands where.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "planner/serving/source_selector.h"

namespace hoplite::planner {

bool SourceSelector::PutInRingOrder() {
  sources_.TurnTo(0);
  if (rates_ || table_.group_count() > 1 || !sources_.turn().in_a_line) return false;
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
  for (const ProgressKey& key : table_.feeding(sources_.group())) {
    if (key.progress > sources_.turn().lead || line.size() == kFreshLooks) break;
    if (rules_.now - place(key.node).granted < rules_.fresh) line.push_back(key.node);
  }
  std::ranges::sort(line, {},
                    [&](NodeId node) { return table_.DistanceOf(sources_.group(), node); });
  return line;
}

NodeId SourceSelector::HeadOf(NodeId receiver, const std::vector<NodeId>& line) const {
  NodeId at = receiver;
  for (std::size_t steps = 0; steps < line.size(); ++steps) {
    if (std::ranges::find(line, at) == line.end()) break;
    const Copy& copy = *table_.Find(at);
    at = copy.feed(static_cast<std::size_t>(std::countr_zero(copy.fed() & sources_.stripes())))
             .source;
  }
  return at;
}

void SourceSelector::MoveBehind(NodeId receiver, NodeId source) {
  const OpenGrant& open = *FirstGrant(receiver);
  const Copy& copy = *table_.Find(receiver);
  if (open.leaf || open.stripes != copy.fed() || copy.superseded()) return;
  if (table_.Find(source) == nullptr || !sources_.HasRoom(source, open.stripes, true)) return;
  if (sources_.Eligible(receiver, source, open.stripes, Ahead::kSoon) != open.stripes) return;
  Move(receiver, {source, open.stripes}, MoveReason::kOrder);
}

void SourceSelector::MoveStarved(NodeId receiver) {
  std::set<GrantId> seen;
  for (std::size_t group = 0; group < table_.group_count(); ++group) {
    sources_.TurnTo(group);
    const GrantId first = FirstGrantId(receiver);
    if (!first || !seen.insert(first).second) continue;
    // Also what a predecessor of this shard granted: its source may be cut off from all others (R68).
    const OpenGrant& open = table_.grants().at(first);
    const std::uint32_t limit = open.leaf ? Sources::kAnyUnits : sources_.units();
    Replace(receiver, sources_.Find(receiver, open.stripes, limit, Among::kFinal),
            MoveReason::kStarved);
  }
}

bool SourceSelector::MoveTo(NodeId receiver, NodeId source) {
  sources_.TurnToFirst(receiver);
  const OpenGrant* open = FirstGrant(receiver);
  if (open == nullptr || table_.Find(source) == nullptr) return false;
  if (!sources_.HasRoom(source, open->stripes & sources_.stripes(), true)) return false;
  if (sources_.MayServe(receiver, source, open->stripes, true) != open->stripes) return false;
  return Replace(receiver, Choice{source, open->stripes}, MoveReason::kTrial);
}

bool SourceSelector::MoveIntoLine(NodeId receiver, NodeId first) {
  sources_.TurnToFirst(receiver);
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
  if (sources_.Eligible(receiver, source, need) != need) return false;
  if (behind == kNoNode) return sources_.HasRoom(source, need);
  const GrantId grant = FirstGrantId(behind);
  if (!grant) return false;
  const OpenGrant& next = table_.grants().at(grant);
  return next.source == source && next.stripes == need && sources_.HasRoom(receiver, need) &&
         sources_.Eligible(behind, receiver, need) == need;
}

bool SourceSelector::MoveBehindOthers(NodeId receiver) {
  sources_.TurnToFirst(receiver);
  const GrantId grant = FirstGrantId(receiver);
  if (!grant) return false;
  const StripeMask need = table_.grants().at(grant).stripes;
  return Replace(receiver, sources_.Find(receiver, need, sources_.units()), MoveReason::kSlow);
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
    sources_.TurnTo(group);
    std::optional<Choice> choice = sources_.Find(open.receiver, part, sources_.units());
    if (!choice) choice = sources_.Find(open.receiver, part, sources_.one_more_receiver());
    if (!choice || choice->stripes != part) return;
    found |= part;
    choices.push_back(*choice);
  });
  if (found != open.stripes) return false;
  table_.Close(grant);
  for (const Choice& choice : choices) Grant(open.receiver, choice, grant, MoveReason::kSlow);
  return true;
}

const OpenGrant* SourceSelector::FirstGrant(NodeId receiver) const {
  const GrantId grant = FirstGrantId(receiver);
  if (!grant) return nullptr;
  const OpenGrant& open = table_.grants().at(grant);
  return open.adopted ? nullptr : &open;
}

GrantId SourceSelector::FirstGrantId(NodeId receiver) const {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask fed = copy.fed() & sources_.stripes();
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
