#include "planner/serving/source_selector.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include "planner/copies/broadcast_cost.h"
#include "planner/copies/dependents.h"

namespace hoplite::planner {
namespace {

// While equal watermarks may not do, receivers at 0 could look at every other one in vain.
constexpr int kLooksInDoubt = 64;
// Who has no more than this part of the object may wait until a newcomer has as much.
constexpr std::uint64_t kHalf = 2;
// So many hops later a source of a forest may be than its receiver, whose FETCH it holds meanwhile;
// but less than it holds one (R7).
constexpr int kSoonHops = 5;
constexpr Duration kLongestSoon = std::chrono::milliseconds(80);

std::uint64_t BlocksIn(const Layout& layout, StripeMask stripes) {
  std::uint64_t blocks = 0;
  for (const std::uint32_t stripe : StripesOf(stripes)) blocks += layout.stripe_block_count(stripe);
  return blocks;
}

}  // namespace

SourceSelector::SourceSelector(CopyTable& table, Stamps& stamps, const PassRules& rules)
    : table_(table),
      stamps_(stamps),
      rules_(rules),
      hop_(FromSeconds(
          HopSeconds(table.forest() ? table.group_count() : 1, table.layout(), rules.link))),
      soon_(std::min(kSoonHops * hop_, kLongestSoon)) {
  std::uint64_t receivers = 0;
  std::uint64_t degree = 0;
  for (std::size_t group = 0; group < table.group_count(); ++group) {
    const StripeMask stripes = table.stripes(group);
    if (table.forest()) {
      turns_.push_back({.receiver = Count(stripes), .units = table.layout().stripe_count});
      continue;
    }
    const std::uint64_t before = std::exchange(
        receivers, std::uint64_t{table.parked(group).size()} + table.feeding(group).size());
    // Most groups have as many receivers as the one before.
    if (group == 0 || receivers != before)
      degree = BestDegree(receivers, table.layout(), rules.link);
    const std::uint32_t receiver = Count(table.WithBlocks(stripes));
    Turn turn{.receiver = receiver,
              .units = static_cast<std::uint32_t>(degree) * receiver,
              .in_a_line = degree == 1};
    if (rules.unequal) turn.units = Rates::kMostReceivers * receiver;
    if (rules.fresh > Duration{0}) turn.lead = BlocksIn(table.layout(), stripes) / kHalf;
    turns_.push_back(turn);
  }
  TurnTo(0);
  if (rules.unequal)
    rates_.emplace(table_, rules.unequal->nodes, rules.unequal->samples, rules.now);
}

void SourceSelector::TurnTo(std::size_t group) {
  group_ = group;
  stripes_ = table_.stripes(group);
}

void SourceSelector::Run() {
  if (table_.forest()) LinkHomes();
  for (std::size_t group = 0; group < table_.group_count(); ++group) {
    TurnTo(group);
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
      TurnTo(group);
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
  const std::set<ParkedKey>& parked = table_.parked(group_);
  const auto next = last ? parked.upper_bound(*last) : parked.begin();
  if (next == parked.end() || (next->waits && next->home > farthest)) return false;
  last = *next;
  const NodeId receiver = next->node;
  const Served served = Serve(receiver);
  // Those after it have no more and stand behind it: they would find nobody either.
  const Copy& copy = *table_.Find(receiver);
  const bool first = copy.place(group_).orphan || copy.progress(stripes_) > 0;
  return served != Served::kNobodyFree || first;
}

SourceSelector::Served SourceSelector::Serve(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  if (copy.leaf) return ServeLeaf(receiver);
  if (rates_) return ServeByRate(receiver);
  const StripeMask need = copy.parked() & stripes_;
  const GrantId replaces = copy.superseded(need);
  const bool orphan = copy.place(group_).orphan;
  const bool has_some = copy.progress(stripes_) > 0;
  std::optional<Choice> choice = FindFinal(receiver, need, units());
  if (!choice && !has_some && (TakeFreshPlace(receiver, need) || TakeOver(receiver, need))) {
    return Served::kYes;
  }
  if (!choice) choice = FindPartial(receiver, need, units());
  if (!choice && orphan) choice = FindFallback(receiver, need);
  if (!choice && orphan) choice = FindFree(receiver, need, one_more_receiver());
  if (choice) {
    Grant(receiver, *choice, replaces);
    return Served::kYes;
  }
  if (has_some) return TakeOver(receiver, need) ? Served::kYes : Served::kUnsuitable;
  return SomebodyFree(need) && books_are_complete() ? Served::kUnsuitable : Served::kNobodyFree;
}

bool SourceSelector::SomebodyFree(StripeMask need) const {
  const auto& sources = table_.sources(group_);
  const auto free = [&](const SourceKey& from) {
    const auto least_used = sources.lower_bound(from);
    return least_used != sources.end() && least_used->used + Count(need) <= units();
  };
  return free({}) || free({.partial = true}) || free({.partial = true, .away = true});
}

// In the last of its groups: before that its source may still be without one.
SourceSelector::Served SourceSelector::ServeLeaf(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask need = copy.parked();
  StripeMask later = need;
  for (std::size_t group = 0; group <= group_; ++group) later &= ~table_.stripes(group);
  if (later != 0) return Served::kUnsuitable;
  const auto source = FindForLeaf(receiver, need);
  if (source) Grant(receiver, *source, copy.superseded(need));
  return source ? Served::kYes : Served::kUnsuitable;
}

std::optional<SourceSelector::Choice> SourceSelector::FindFree(NodeId receiver, StripeMask need,
                                                               std::uint32_t limit) {
  std::optional<Choice> choice = FindFinal(receiver, need, limit);
  return choice ? choice : FindPartial(receiver, need, limit);
}

std::optional<SourceSelector::Choice> SourceSelector::FindForLeaf(NodeId receiver,
                                                                  StripeMask need) {
  for (const std::uint32_t limit : {Count(need & stripes_), kAnyUnits}) {
    const std::optional<Choice> choice = FindFree(receiver, need, limit);
    if (choice && choice->stripes == need) return choice;
  }
  return std::nullopt;
}

std::optional<SourceSelector::Choice> SourceSelector::FindFinal(NodeId receiver, StripeMask need,
                                                                std::uint32_t limit) {
  const bool leaf = table_.Find(receiver)->leaf;
  for (const SourceKey& key : table_.sources(group_)) {
    ++looks_;
    if (key.partial || key.used + Count(need & stripes_) > limit) break;
    if (!leaf && !table_.Find(key.node)->FinalIn(need)) continue;
    if (MayServe(receiver, key.node, need) == need) return Choice{key.node, need};
  }
  return std::nullopt;
}

std::optional<SourceSelector::Choice> SourceSelector::FindPartial(NodeId receiver, StripeMask need,
                                                                  std::uint32_t limit) {
  std::optional<Choice> choice = FindPartial(receiver, need, limit, false);
  if (!choice && table_.forest()) choice = FindPartial(receiver, need, limit, true);
  return choice;
}

std::optional<SourceSelector::Choice> SourceSelector::FindPartial(NodeId receiver, StripeMask need,
                                                                  std::uint32_t limit, bool away) {
  const auto& sources = table_.sources(group_);
  const SourceKey* best = nullptr;
  std::optional<Choice> some_stripes;  // a source that is ahead in a part of them only
  int looks = 0;
  Dependents dependents(table_, receiver, need);
  const auto of_these = [&](const auto& at) { return at != sources.end() && at->away == away; };
  auto key = sources.lower_bound(SourceKey{.partial = true, .away = away});
  while (of_these(key) && key->used + Count(need & stripes_) <= limit) {
    const std::uint32_t used = key->used;
    for (; of_these(key) && key->used == used; ++key) {
      ++looks_;
      if (!books_are_complete() && ++looks > kLooksInDoubt) break;
      if (dependents.Include(key->node)) continue;
      const StripeMask eligible = MayServe(receiver, key->node, need);
      if (eligible == need) {
        const auto rank = [](const SourceKey& k) { return std::tuple(k.lag, k.order, k.node); };
        if (best == nullptr || rank(*key) < rank(*best)) best = &*key;
        break;
      }
      if (eligible != 0 && !some_stripes) some_stripes = Choice{key->node, eligible};
    }
    key = sources.lower_bound(SourceKey{.partial = true, .away = away, .used = used + 1});
  }
  return best != nullptr ? Choice{best->node, need} : some_stripes;
}

std::optional<SourceSelector::Choice> SourceSelector::FindFallback(NodeId receiver,
                                                                   StripeMask need) {
  const auto stripe = static_cast<std::size_t>(std::countr_zero(need));
  const Feed* lost = table_.Find(receiver)->lost(need);
  NodeId at = lost != nullptr ? lost->fallback : kNoNode;
  for (std::size_t step = 0; step < table_.copies().size(); ++step) {
    const Copy* copy = table_.Find(at);
    if (copy == nullptr) break;
    const bool room = HasRoom(at, need, true);
    if (room && Eligible(receiver, at, need) == need) return Choice{at, need};
    at = copy->feed(stripe).source;
  }
  return std::nullopt;
}

StripeMask SourceSelector::Eligible(NodeId receiver, NodeId source_id, StripeMask need,
                                    Ahead when) const {
  const Copy* source = table_.Find(source_id);
  const Copy& copy = *table_.Find(receiver);
  if (source == nullptr || source_id == receiver || !source->live || source->evicting ||
      source->leaf) {
    return 0;
  }
  if (rules_.apart.Contains({receiver, source_id}, rules_.now)) return 0;
  const bool waits = copy.fed() == 0;
  if (waits && rules_.kept.second == source_id && rules_.kept.first != receiver) return 0;
  if (copy.leaf && !source->flow().places.AllOf([](const Place& at) { return at.leaves == 0; })) {
    return 0;
  }
  StripeMask eligible = need;
  if (when == Ahead::kNow) {
    eligible &= source->final_stripes();
    StripeMask equal = 0;
    for (StripeMask left = need & ~eligible; left != 0; left &= left - 1) {
      const auto stripe = static_cast<std::size_t>(std::countr_zero(left));
      const StripeMask bit = StripeMask{1} << stripe;
      if (source->marks[stripe] > copy.marks[stripe]) eligible |= bit;
      if (source->marks[stripe] == copy.marks[stripe]) equal |= bit;
    }
    if (equal != 0) eligible |= EqualityOk(receiver, source_id, equal);
    // A leaf's lag is that of its last source, whatever it has by now.
    table_.ForGroups(copy.leaf ? 0 : need & ~eligible, [&](std::size_t group, StripeMask part) {
      if (table_.IsSoonAhead(group, copy, *source, soon_)) eligible |= part;
    });
  }
  // A node that serves nobody has no descendants, but for those that have not heard that they were
  // moved away from it.
  const bool alone = copy.flow().serving.empty() && table_.knows_all_streams();
  if (eligible == 0 || alone) return eligible;
  return eligible & ~table_.DependsOn(source_id, receiver, eligible);
}

StripeMask SourceSelector::MayServe(NodeId receiver, NodeId source, StripeMask need,
                                    bool more) const {
  StripeMask may = Eligible(receiver, source, need);
  if ((may & ~stripes_) == 0) return may;
  const Copy& from = *table_.Find(source);
  const bool leaf = table_.Find(receiver)->leaf;
  table_.ForGroups(may & ~stripes_, [&](std::size_t group, StripeMask part) {
    const bool room = leaf || HasRoom(source, part, more);
    if (!room || !table_.IsSource(group, from)) may &= ~part;
  });
  return may;
}

bool SourceSelector::HasRoom(NodeId source, StripeMask stripes, bool more) const {
  bool room = true;
  std::uint32_t taken = 0;  // units of a forest are for all groups together
  table_.ForGroups(stripes, [&](std::size_t group, StripeMask part) {
    const std::uint32_t beyond = more ? turns_[group].receiver : 0;
    const std::uint32_t load = table_.LoadIn(group, *table_.Find(source)) + taken;
    room = room && load + Count(part) <= turns_[group].units + beyond;
    if (table_.forest()) taken += Count(part);
  });
  return room;
}

StripeMask SourceSelector::EqualityOk(NodeId receiver, NodeId source, StripeMask stripes) const {
  if (!rules_.knows_members || !table_.knows_all_upstreams()) return 0;
  if (table_.knows_all_streams()) return stripes;
  return stripes & ~table_.MayDependOn(source, receiver, stripes);
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
  Time lag = source.FinalIn(choice.stripes) ? Time{} : source.place(group).lag + hop_;
  if (!resumes) lag = std::max(lag, rules_.now + hop_);
  const bool equality_ok = EqualityOk(receiver, choice.source, choice.stripes) == choice.stripes;
  Open({.receiver = receiver,
        .source = choice.source,
        .stripes = choice.stripes,
        .leaf = table_.Find(receiver)->leaf,
        .equality_ok = equality_ok,
        .since = rules_.now},
       replaces, why, lag, turns_[group].units);
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
