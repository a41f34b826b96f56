#include "planner/source_selector.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "planner/broadcast_cost.h"

namespace hoplite::planner {
namespace {

// While equal watermarks may not do, receivers at 0 could look at every other one in vain.
constexpr int kLooksInDoubt = 64;
// How many receivers behind are tried for their source.
constexpr int kTakeOverTries = 16;
// Who has no more than this part of the object loses little if it waits for that once more; so many
// of those that have least are looked at.
constexpr std::uint64_t kNextToNothing = 10;
constexpr int kFreshLooks = 64;
// A leaf takes no unit.
constexpr std::uint32_t kAnyUnits = std::numeric_limits<std::uint32_t>::max();

std::uint64_t BlocksIn(const Layout& layout, StripeMask stripes) {
  std::uint64_t blocks = 0;
  for (const std::uint32_t stripe : StripesOf(stripes)) blocks += layout.stripe_block_count(stripe);
  return blocks;
}

}  // namespace

SourceSelector::SourceSelector(CopyTable& table, Stamps& stamps, const PassRules& rules)
    : table_(table), stamps_(stamps), rules_(rules) {
  hop_ = FromSeconds(HopSeconds(1, table.layout(), rules.link));
  TurnTo(0);
}

void SourceSelector::TurnTo(std::size_t group) {
  group_ = group;
  stripes_ = table_.stripes(group);
  const std::uint64_t receivers = table_.parked(group).size() + table_.feeding(group).size();
  const std::uint64_t degree = BestDegree(receivers, table_.layout(), rules_.link);
  units_ = static_cast<std::uint32_t>(degree) * Count(stripes_);
  in_a_line_ = degree == 1;
}

void SourceSelector::Run() {
  for (std::size_t group = 0; group < table_.group_count(); ++group) {
    if (group != group_) TurnTo(group);
    RunGroup();
  }
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
  const std::set<NodeId> starved = table_.starved();
  for (const NodeId node : starved) MoveStarved(node);
}

SourceSelector::Served SourceSelector::Serve(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask need = copy.parked() & stripes_;
  const GrantId replaces = copy.superseded(need);
  const bool orphan = copy.place(group_).orphan;
  const bool has_some = copy.progress(stripes_) > 0;
  if (copy.leaf) {
    const auto source = FindForLeaf(receiver, need);
    if (source) Grant(receiver, *source, replaces);
    return source ? Served::kYes : Served::kUnsuitable;
  }
  std::optional<Choice> choice = FindFinal(receiver, need, units_);
  if (!choice && !has_some && (TakeFreshPlace(receiver, need) || TakeOver(receiver, need))) {
    return Served::kYes;
  }
  if (!choice) choice = FindPartial(receiver, need, units_);
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
      (!sources.empty() && sources.begin()->used + Count(need) <= units_) ||
      (free_partial != sources.end() && free_partial->used + Count(need) <= units_);
  return somebody_free && books_are_complete() ? Served::kUnsuitable : Served::kNobodyFree;
}

std::optional<SourceSelector::Choice> SourceSelector::FindFree(NodeId receiver, StripeMask need,
                                                               std::uint32_t limit) {
  std::optional<Choice> choice = FindFinal(receiver, need, limit);
  return choice ? choice : FindPartial(receiver, need, limit);
}

std::optional<SourceSelector::Choice> SourceSelector::FindForLeaf(NodeId receiver,
                                                                  StripeMask need) {
  for (const std::uint32_t limit : {Count(need), kAnyUnits}) {
    const std::optional<Choice> choice = FindFree(receiver, need, limit);
    if (choice && choice->stripes == need) return choice;
  }
  return std::nullopt;
}

std::optional<SourceSelector::Choice> SourceSelector::FindFinal(NodeId receiver, StripeMask need,
                                                                std::uint32_t limit) {
  for (const SourceKey& key : table_.sources(group_)) {
    if (key.partial || key.used + Count(need) > limit) break;
    if (Eligible(receiver, key.node, need) == need) return Choice{key.node, need};
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
  while (key != sources.end() && key->used + Count(need) <= limit) {
    const std::uint32_t used = key->used;
    for (; key != sources.end() && key->used == used; ++key) {
      if (!books_are_complete() && ++looks > kLooksInDoubt) break;
      const StripeMask eligible = Eligible(receiver, key->node, need);
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

bool SourceSelector::TakeOver(NodeId receiver, StripeMask need) {
  const auto& feeding = table_.feeding(group_);
  auto behind = feeding.lower_bound(table_.KeyOfProgress(group_, receiver, *table_.Find(receiver)));
  for (int tries = 0; tries < kTakeOverTries && behind != feeding.begin(); ++tries) {
    --behind;
    const bool may = MayPass(receiver, behind->node);
    if (may && TakeOverFrom(receiver, need, behind->node)) return true;
  }
  return false;
}

bool SourceSelector::MayPass(NodeId receiver, NodeId behind) const {
  const Copy& copy = *table_.Find(receiver);
  const Copy& other = *table_.Find(behind);
  return other.progress(stripes_) < copy.progress(stripes_) || other.slot > copy.slot;
}

// Where holders serve one receiver each, the line of those who have next to nothing is that of the
// ring; in a tree a place is not worth a move. What the one behind got before it is moved it has to
// wait for once more, and the books are as old as its last report: so it must have been granted
// lately, too (R40).
bool SourceSelector::TakeFreshPlace(NodeId receiver, StripeMask need) {
  if (!in_a_line_ || rules_.fresh == Duration{0}) return false;
  const std::uint64_t most = BlocksIn(table_.layout(), stripes_) / kNextToNothing;
  const std::uint64_t own = table_.DistanceOf(group_, receiver);
  NodeId nearest = kNoNode;
  int looks = 0;
  for (const ProgressKey& key : table_.feeding(group_)) {
    if (key.progress > most || ++looks > kFreshLooks) break;
    const bool fresh = rules_.now - place(key.node).granted < rules_.fresh;
    const bool alike = table_.Find(key.node)->slot == table_.Find(receiver)->slot;
    const std::uint64_t distance = table_.DistanceOf(group_, key.node);
    if (!fresh || !alike || distance < own) continue;
    if (nearest == kNoNode || distance < table_.DistanceOf(group_, nearest)) nearest = key.node;
  }
  return nearest != kNoNode && TakeOverFrom(receiver, need, nearest, Ahead::kSoon);
}

bool SourceSelector::TakeOverFrom(NodeId receiver, StripeMask need, NodeId behind, Ahead ahead) {
  const Feed& feed = table_.Find(behind)->feed(std::countr_zero(need));
  if (!feed.grant) return false;
  const OpenGrant taken = table_.grants().at(feed.grant);
  const GrantId old = feed.grant;
  if ((need & ~taken.stripes) != 0 || taken.adopted || taken.leaf) return false;
  const bool room = place(receiver).used + Count(taken.stripes) <= units_;
  if (!room || Eligible(receiver, taken.source, need) != need ||
      Eligible(behind, receiver, taken.stripes, ahead) != taken.stripes) {
    return false;
  }
  const GrantId superseded = table_.Find(receiver)->superseded(need);
  const Time granted = place(behind).granted;
  table_.Close(old);
  Grant(receiver, {taken.source, need}, superseded);
  // Else the one behind could be made to wait again and again.
  table_.Edit(receiver,
              [&](Copy& copy) { copy.flows.Make().places.Make(group_).granted = granted; });
  Grant(behind, {receiver, taken.stripes}, old);
  return true;
}

void SourceSelector::MoveStarved(NodeId receiver) {
  const OpenGrant* open = FirstGrant(receiver);
  if (open == nullptr) return;
  const std::uint32_t limit = open->leaf ? kAnyUnits : units_;
  Replace(receiver, FindFinal(receiver, open->stripes, limit));
}

bool SourceSelector::MoveTo(NodeId receiver, NodeId source) {
  TurnToFirst(receiver);
  const OpenGrant* open = FirstGrant(receiver);
  const Copy* to = table_.Find(source);
  if (open == nullptr || to == nullptr) return false;
  const bool room = place(source).used + Count(open->stripes) <= one_more_receiver();
  if (!room || Eligible(receiver, source, open->stripes) != open->stripes) return false;
  return Replace(receiver, Choice{source, open->stripes});
}

bool SourceSelector::MoveBehindOthers(NodeId receiver) {
  TurnToFirst(receiver);
  const OpenGrant* open = FirstGrant(receiver);
  return open != nullptr && Replace(receiver, FindFree(receiver, open->stripes, units_));
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

bool SourceSelector::Replace(NodeId receiver, const std::optional<Choice>& better) {
  const GrantId old = FirstGrantId(receiver);
  const OpenGrant open = table_.grants().at(old);
  if (!better || better->source == open.source || better->stripes != open.stripes) return false;
  table_.Close(old);
  Grant(receiver, *better, old);
  return true;
}

StripeMask SourceSelector::Eligible(NodeId receiver, NodeId source_id, StripeMask need,
                                    Ahead when) const {
  const Copy* source = table_.Find(source_id);
  const Copy& copy = *table_.Find(receiver);
  if (source == nullptr || source_id == receiver || !source->live || source->evicting) return 0;
  if (rules_.apart.Contains({receiver, source_id}, rules_.now)) return 0;
  if (copy.leaf && place(source_id).leaves > 0) return 0;
  StripeMask eligible = 0;
  for (const std::uint32_t stripe : StripesOf(need)) {
    const std::uint32_t has = source->marks[stripe];
    const std::uint32_t lacks_from = copy.marks[stripe];
    const StripeMask bit = StripeMask{1} << stripe;
    const bool ahead =
        has > lacks_from || (has == lacks_from && EqualityOk(receiver, source_id, bit));
    if (when == Ahead::kNow && !source->FinalIn(bit) && !ahead) continue;
    // A node that serves nobody has no descendants.
    const bool check = !copy.flow().serving.empty();
    if (!check || !table_.DependsOn(source_id, receiver, bit)) eligible |= bit;
  }
  return eligible;
}

bool SourceSelector::EqualityOk(NodeId receiver, NodeId source, StripeMask stripes) const {
  if (!rules_.knows_members || !table_.knows_all_upstreams()) return false;
  if (table_.knows_all_streams()) return true;
  return !table_.MayDependOn(source, receiver, stripes);
}

void SourceSelector::Grant(NodeId receiver, const Choice& choice, GrantId replaces) {
  const Copy& source = *table_.Find(choice.source);
  const bool resumes = place(receiver).lag != Time{};
  Time lag = source.FinalIn(choice.stripes) ? Time{} : place(choice.source).lag + hop_;
  if (!resumes) lag = std::max(lag, rules_.now + hop_);
  Decision decision;
  decision.grant = stamps_.NextGrant();
  const Copy& copy = *table_.Find(receiver);
  const bool equality_ok = EqualityOk(receiver, choice.source, choice.stripes);
  decision.what = {receiver, choice.source, choice.stripes, false, copy.leaf, equality_ok};
  decision.replaces = replaces;
  decision.newly_listed = !copy.listed && !copy.leaf;
  table_.Open(decision.grant, decision.what, lag, units_);
  table_.Edit(receiver, [&](Copy& copy) {
    copy.starved = false;
    Place& stands = copy.flows.Make().places.Make(group_);
    if (stands.granted == Time{}) stands.granted = rules_.now;
  });
  decisions_.push_back(decision);
}

}  // namespace hoplite::planner
