#include "planner/serving/source_selector.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include "planner/copies/broadcast_cost.h"
#include "planner/copies/dependents.h"

namespace hoplite::planner {

SourceSelector::SourceSelector(CopyTable& table, Stamps& stamps, const PassRules& rules)
    : table_(table), stamps_(stamps), rules_(rules), sources_(table, rules_) {
  if (rules.unequal)
    rates_.emplace(table_, rules.unequal->nodes, rules.unequal->samples, rules.now);
}

void SourceSelector::Run() {
  if (table_.forest()) LinkHomes();
  for (std::size_t group = 0; group < table_.group_count(); ++group) {
    sources_.TurnTo(group);
    RunGroup();
  }
  const std::set<NodeId> starved = table_.starved();
  for (const NodeId node : starved) MoveStarved(node);
}

// One of each group in turn: else the first group would take all free units of those who have bytes,
// and what it adds is of use to the others only when they have begun.
void SourceSelector::LinkHomes() {
  std::vector<std::optional<ParkedKey>> last(table_.group_count());
  std::vector<bool> goes_on(table_.group_count(), true);
  while (std::ranges::find(goes_on, true) != goes_on.end()) {
    for (std::size_t group = 0; group < goes_on.size(); ++group) {
      sources_.TurnTo(group);
      goes_on[group] = goes_on[group] && ServeNext(last[group], Home::kHere);
    }
  }
}

void SourceSelector::RunGroup() {
  if (rates_) {
    for (const NodeId receiver : FasterFirst()) Serve(receiver);
    return;
  }
  std::optional<ParkedKey> last;
  while (ServeNext(last, Home::kElsewhere)) continue;
}

bool SourceSelector::ServeNext(std::optional<ParkedKey>& last, Home farthest) {
  const std::set<ParkedKey>& parked = table_.parked(sources_.group());
  const auto next = last ? parked.upper_bound(*last) : parked.begin();
  if (next == parked.end() || (next->waits && next->home > farthest)) return false;
  last = *next;
  const NodeId receiver = next->node;
  const Served served = Serve(receiver);
  // Those after it have no more and stand behind it: they would find nobody either.
  const Copy& copy = *table_.Find(receiver);
  const bool first = copy.place(sources_.group()).orphan || copy.progress(sources_.stripes()) > 0;
  return served != Served::kNobodyFree || first;
}

SourceSelector::Served SourceSelector::Serve(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  if (copy.leaf) return ServeLeaf(receiver);
  if (rates_) return ServeByRate(receiver);
  const StripeMask need = copy.parked() & sources_.stripes();
  const GrantId replaces = copy.superseded(need);
  const bool orphan = copy.place(sources_.group()).orphan;
  const bool has_some = copy.progress(sources_.stripes()) > 0;
  const std::uint32_t units = sources_.units();
  std::optional<Choice> choice = sources_.Find(receiver, need, units, Among::kFinal);
  if (!choice && !has_some && TakePlace(receiver, need)) return Served::kYes;
  if (!choice) choice = sources_.Find(receiver, need, units, Among::kPartial);
  if (!choice && orphan) choice = sources_.FindFallback(receiver, need);
  if (!choice && orphan) choice = sources_.Find(receiver, need, sources_.one_more_receiver());
  if (choice) {
    Grant(receiver, *choice, replaces);
    return Served::kYes;
  }
  if (has_some) return TakePlace(receiver, need) ? Served::kYes : Served::kUnsuitable;
  const bool unsuitable = sources_.SomebodyFree(need) && sources_.books_are_complete();
  return unsuitable ? Served::kUnsuitable : Served::kNobodyFree;
}

// It takes nobody's unit, and all that it misses from one source: an idle holder's, or whichever
// serves no other leaf. In the last of its groups: before that its source may still be without one.
SourceSelector::Served SourceSelector::ServeLeaf(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask need = copy.parked();
  StripeMask later = need;
  for (std::size_t group = 0; group <= sources_.group(); ++group) later &= ~table_.stripes(group);
  if (later != 0) return Served::kUnsuitable;
  for (const std::uint32_t limit : {Count(need & sources_.stripes()), Sources::kAnyUnits}) {
    const std::optional<Choice> choice = sources_.Find(receiver, need, limit);
    if (!choice || choice->stripes != need) continue;
    Grant(receiver, *choice, copy.superseded(need));
    return Served::kYes;
  }
  return Served::kUnsuitable;
}

void SourceSelector::Grant(NodeId receiver, const Choice& choice, GrantId replaces,
                           MoveReason why) {
  table_.ForGroups(choice.stripes, [&](std::size_t group, StripeMask part) {
    GrantIn(group, receiver, {choice.source, part}, replaces, why);
  });
}

void SourceSelector::GrantIn(std::size_t group, NodeId receiver, const Choice& choice,
                             GrantId replaces, MoveReason why) {
  const Copy& source = *table_.Find(choice.source);
  const bool resumes = place(group, receiver).lag != Time{};
  Time lag = source.FinalIn(choice.stripes) ? Time{} : source.place(group).lag + sources_.hop();
  if (!resumes) lag = std::max(lag, rules_.now + sources_.hop());
  const bool equality_ok =
      sources_.EqualityOk(receiver, choice.source, choice.stripes) == choice.stripes;
  Open({.receiver = receiver,
        .source = choice.source,
        .stripes = choice.stripes,
        .leaf = table_.Find(receiver)->leaf,
        .equality_ok = equality_ok,
        .since = rules_.now},
       replaces, why, lag, sources_.turn(group).units);
  table_.Edit(receiver, [&](Copy& copy) {
    copy.starved = false;
    Place& stands = copy.flows.Make().places.Make(group);
    if (stands.granted == Time{}) stands.granted = rules_.now;
  });
}

void SourceSelector::Open(const OpenGrant& what, GrantId replaces, MoveReason why, Time lag,
                          std::uint32_t units) {
  if (Decision* made = SameStream(what, replaces)) {
    made->what.stripes |= what.stripes;
    return table_.Extend(made->grant, what.stripes, lag, units);
  }
  const Copy& receiver = *table_.Find(what.receiver);
  const bool newly_listed = !receiver.listed && !receiver.leaf;
  decisions_.push_back({stamps_.NextGrant(), what, replaces, newly_listed, why});
  if (table_.group_count() > 1) {
    said_[{what.receiver, what.source}].push_back(decisions_.size() - 1);
  }
  table_.Open(decisions_.back().grant, what, lag, units);
}

// A stream that replaces another waits for that one's end; and the receiver hears of the other, if
// it is of this pass, first.
Decision* SourceSelector::SameStream(const OpenGrant& what, GrantId replaces) {
  const auto said = said_.find({what.receiver, what.source});
  if (said == said_.end()) return nullptr;
  for (const std::size_t index : said->second) {
    Decision& made = decisions_[index];
    const bool alike =
        made.what.equality_ok == what.equality_ok && (made.replaces == replaces || !replaces);
    if (alike && table_.grants().contains(made.grant)) return &made;
  }
  return nullptr;
}

}  // namespace hoplite::planner
