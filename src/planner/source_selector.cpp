#include "planner/source_selector.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include "planner/broadcast_cost.h"

namespace hoplite::planner {
namespace {

// While equal watermarks may not do, receivers at 0 could look at every other one in vain.
constexpr int kLooksInDoubt = 64;
// Who has no more than this part of the object loses little if it waits for that once more.
constexpr std::uint64_t kNextToNothing = 10;

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
      hop_(FromSeconds(HopSeconds(1, table.layout(), rules.link))) {
  std::uint64_t receivers = 0;
  std::uint64_t degree = 0;
  for (std::size_t group = 0; group < table.group_count(); ++group) {
    const std::uint64_t before = std::exchange(
        receivers, std::uint64_t{table.parked(group).size()} + table.feeding(group).size());
    // Most groups have as many receivers as the one before.
    if (group == 0 || receivers != before)
      degree = BestDegree(receivers, table.layout(), rules.link);
    const StripeMask stripes = table.stripes(group);
    turns_.push_back({.units = static_cast<std::uint32_t>(degree) * Count(stripes),
                      .in_a_line = degree == 1,
                      .little = BlocksIn(table.layout(), stripes) / kNextToNothing});
  }
  TurnTo(0);
}

void SourceSelector::TurnTo(std::size_t group) {
  group_ = group;
  stripes_ = table_.stripes(group);
}

void SourceSelector::Run() {
  for (std::size_t group = 0; group < table_.group_count(); ++group) {
    TurnTo(group);
    RunGroup();
  }
  const std::set<NodeId> starved = table_.starved();
  for (const NodeId node : starved) MoveStarved(node);
}

void SourceSelector::RunGroup() {
  for (auto next = table_.parked(group_).begin(); next != table_.parked(group_).end();) {
    const ParkedKey key = *next;
    const Served served = Serve(key.node);
    // Those after it have no more and stand behind it: they would find nobody either.
    const Copy& copy = *table_.Find(key.node);
    const bool first = copy.place(group_).orphan || copy.progress(stripes_) > 0;
    if (served == Served::kNobodyFree && !first) break;
    next = table_.parked(group_).upper_bound(key);
  }
}

SourceSelector::Served SourceSelector::Serve(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  if (copy.leaf) return ServeLeaf(receiver);
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
  const auto& sources = table_.sources(group_);
  const auto free_partial = sources.lower_bound(SourceKey{.partial = true});
  const bool somebody_free =
      (!sources.empty() && sources.begin()->used + Count(need) <= units()) ||
      (free_partial != sources.end() && free_partial->used + Count(need) <= units());
  return somebody_free && books_are_complete() ? Served::kUnsuitable : Served::kNobodyFree;
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
    if (key.partial || key.used + Count(need & stripes_) > limit) break;
    if (!leaf && !table_.Find(key.node)->FinalIn(need)) continue;
    if (MayServe(receiver, key.node, need) == need) return Choice{key.node, need};
  }
  return std::nullopt;
}

std::optional<SourceSelector::Choice> SourceSelector::FindPartial(NodeId receiver, StripeMask need,
                                                                  std::uint32_t limit) {
  const auto& sources = table_.sources(group_);
  const SourceKey* best = nullptr;
  std::optional<Choice> some_stripes;  // a source that is ahead in a part of them only
  int looks = 0;
  auto key = sources.lower_bound(SourceKey{.partial = true});
  while (key != sources.end() && key->used + Count(need & stripes_) <= limit) {
    const std::uint32_t used = key->used;
    for (; key != sources.end() && key->used == used; ++key) {
      if (!books_are_complete() && ++looks > kLooksInDoubt) break;
      const StripeMask eligible = MayServe(receiver, key->node, need);
      if (eligible == need) {
        const auto rank = [](const SourceKey& k) { return std::tuple(k.lag, k.order, k.node); };
        if (best == nullptr || rank(*key) < rank(*best)) best = &*key;
        break;
      }
      if (eligible != 0 && !some_stripes) some_stripes = Choice{key->node, eligible};
    }
    key = sources.lower_bound(SourceKey{.partial = true, .used = used + 1});
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
    const bool room = place(at).used + Count(need) <= one_more_receiver();
    if (room && Eligible(receiver, at, need) == need) return Choice{at, need};
    at = copy->feed(stripe).source;
  }
  return std::nullopt;
}

StripeMask SourceSelector::Eligible(NodeId receiver, NodeId source_id, StripeMask need,
                                    Ahead when) const {
  const Copy* source = table_.Find(source_id);
  const Copy& copy = *table_.Find(receiver);
  if (source == nullptr || source_id == receiver || !source->live || source->evicting) return 0;
  if (rules_.apart.Contains({receiver, source_id}, rules_.now)) return 0;
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
  }
  // A node that serves nobody has no descendants.
  if (eligible == 0 || copy.flow().serving.empty()) return eligible;
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
  table_.ForGroups(stripes, [&](std::size_t group, StripeMask part) {
    const std::uint32_t beyond = more ? Count(table_.stripes(group)) : 0;
    room = room && place(group, source).used + Count(part) <= turns_[group].units + beyond;
  });
  return room;
}

StripeMask SourceSelector::EqualityOk(NodeId receiver, NodeId source, StripeMask stripes) const {
  if (!rules_.knows_members || !table_.knows_all_upstreams()) return 0;
  if (table_.knows_all_streams()) return stripes;
  return stripes & ~table_.MayDependOn(source, receiver, stripes);
}

void SourceSelector::Grant(NodeId receiver, const Choice& choice, GrantId replaces) {
  table_.ForGroups(choice.stripes, [&](std::size_t group, StripeMask part) {
    GrantIn(group, receiver, {choice.source, part}, replaces);
  });
}

void SourceSelector::GrantIn(std::size_t group, NodeId receiver, const Choice& choice,
                             GrantId replaces) {
  const Copy& source = *table_.Find(choice.source);
  const bool resumes = place(group, receiver).lag != Time{};
  Time lag = source.FinalIn(choice.stripes) ? Time{} : source.place(group).lag + hop_;
  if (!resumes) lag = std::max(lag, rules_.now + hop_);
  const bool equality_ok = EqualityOk(receiver, choice.source, choice.stripes) == choice.stripes;
  Open({.receiver = receiver,
        .source = choice.source,
        .stripes = choice.stripes,
        .leaf = table_.Find(receiver)->leaf,
        .equality_ok = equality_ok},
       replaces, lag, turns_[group].units);
  table_.Edit(receiver, [&](Copy& copy) {
    copy.starved = false;
    Place& stands = copy.flows.Make().places.Make(group);
    if (stands.granted == Time{}) stands.granted = rules_.now;
  });
}

void SourceSelector::Open(const OpenGrant& what, GrantId replaces, Time lag, std::uint32_t units) {
  if (Decision* made = SameStream(what, replaces)) {
    made->what.stripes |= what.stripes;
    return table_.Extend(made->grant, what.stripes, lag, units);
  }
  const Copy& receiver = *table_.Find(what.receiver);
  const bool newly_listed = !receiver.listed && !receiver.leaf;
  decisions_.push_back({stamps_.NextGrant(), what, replaces, newly_listed});
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
