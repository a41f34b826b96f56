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

std::uint32_t Count(StripeMask stripes) {
  return static_cast<std::uint32_t>(std::popcount(stripes));
}

}  // namespace

SourceSelector::SourceSelector(CopyTable& table, Stamps& stamps, const PassRules& rules)
    : table_(table), stamps_(stamps), rules_(rules) {
  const std::uint64_t receivers = table.parked().size() + table.feeding().size();
  const std::uint64_t degree = BestDegree(receivers, table.layout(), rules.link);
  units_ = static_cast<std::uint32_t>(degree) * table.layout().stripe_count;
  hop_ = FromSeconds(HopSeconds(1, table.layout(), rules.link));
  in_a_line_ = degree == 1;
}

void SourceSelector::Run() {
  for (auto next = table_.parked().begin(); next != table_.parked().end();) {
    const ParkedKey key = *next;
    const Served served = Serve(key.node);
    // Those after it have no more and stand behind it: they would find nobody either.
    const Copy& copy = *table_.Find(key.node);
    if (served == Served::kNobodyFree && copy.progress() == 0 && !copy.orphan) break;
    next = table_.parked().upper_bound(key);
  }
  const std::set<NodeId> starved = table_.starved();
  for (const NodeId node : starved) MoveStarved(node);
}

SourceSelector::Served SourceSelector::Serve(NodeId receiver) {
  const Copy& copy = *table_.Find(receiver);
  const StripeMask need = copy.parked();
  const GrantId replaces = copy.flow().superseded;
  if (copy.leaf) {
    const auto source = FindForLeaf(receiver, need);
    if (source) Grant(receiver, *source, replaces);
    return source ? Served::kYes : Served::kUnsuitable;
  }
  std::optional<Choice> choice = FindFinal(receiver, need, units_);
  if (!choice && copy.progress() == 0 &&
      (TakeFreshPlace(receiver, need) || TakeOver(receiver, need))) {
    return Served::kYes;
  }
  if (!choice) choice = FindPartial(receiver, need, units_);
  if (!choice && copy.orphan) choice = FindFallback(receiver, need);
  if (!choice && copy.orphan) choice = FindFree(receiver, need, one_more_receiver());
  if (choice) {
    Grant(receiver, *choice, replaces);
    return Served::kYes;
  }
  if (copy.progress() > 0) return TakeOver(receiver, need) ? Served::kYes : Served::kUnsuitable;
  const auto& sources = table_.sources();
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
  for (const SourceKey& key : table_.sources()) {
    if (key.partial || key.used + Count(need) > limit) break;
    if (Eligible(receiver, key.node, need) == need) return Choice{key.node, need};
  }
  return std::nullopt;
}

std::optional<SourceSelector::Choice> SourceSelector::FindPartial(NodeId receiver, StripeMask need,
                                                                  std::uint32_t limit) {
  const auto& sources = table_.sources();
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
  NodeId at = table_.Find(receiver)->flow().fallback;
  for (std::size_t step = 0; step < table_.copies().size(); ++step) {
    const Copy* copy = table_.Find(at);
    if (copy == nullptr) break;
    const bool room = copy->flow().used + Count(need) <= one_more_receiver();
    if (room && Eligible(receiver, at, need) == need) return Choice{at, need};
    at = copy->feed(stripe).source;
  }
  return std::nullopt;
}

bool SourceSelector::TakeOver(NodeId receiver, StripeMask need) {
  const auto& feeding = table_.feeding();
  auto behind = feeding.lower_bound(table_.KeyOfProgress(receiver, *table_.Find(receiver)));
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
  return other.progress() < copy.progress() || other.slot > copy.slot;
}

// Where holders serve one receiver each, the line of those who have next to nothing is that of the
// ring; in a tree a place is not worth a move. What the one behind got before it is moved it has to
// wait for once more, and the books are as old as its last report: so it must have been granted
// lately, too (R40).
bool SourceSelector::TakeFreshPlace(NodeId receiver, StripeMask need) {
  if (!in_a_line_ || rules_.fresh == Duration{0}) return false;
  const std::uint64_t most = table_.layout().block_count() / kNextToNothing;
  const std::uint64_t own = table_.DistanceOf(receiver);
  NodeId nearest = kNoNode;
  int looks = 0;
  for (const ProgressKey& key : table_.feeding()) {
    if (key.progress > most || ++looks > kFreshLooks) break;
    const Copy& other = *table_.Find(key.node);
    const bool fresh = rules_.now - other.flow().granted < rules_.fresh;
    const std::uint64_t distance = table_.DistanceOf(key.node);
    if (!fresh || other.slot != table_.Find(receiver)->slot || distance < own) continue;
    if (nearest == kNoNode || distance < table_.DistanceOf(nearest)) nearest = key.node;
  }
  return nearest != kNoNode && TakeOverFrom(receiver, need, nearest, Ahead::kSoon);
}

bool SourceSelector::TakeOverFrom(NodeId receiver, StripeMask need, NodeId behind, Ahead ahead) {
  const Feed& feed = table_.Find(behind)->feed(std::countr_zero(need));
  if (!feed.grant) return false;
  const OpenGrant taken = table_.grants().at(feed.grant);
  const GrantId old = feed.grant;
  if ((need & ~taken.stripes) != 0 || taken.adopted || taken.leaf) return false;
  const bool room = table_.Find(receiver)->flow().used + Count(taken.stripes) <= units_;
  if (!room || Eligible(receiver, taken.source, need) != need ||
      Eligible(behind, receiver, taken.stripes, ahead) != taken.stripes) {
    return false;
  }
  const GrantId superseded = table_.Find(receiver)->flow().superseded;
  const Time granted = table_.Find(behind)->flow().granted;
  table_.Close(old);
  Grant(receiver, {taken.source, need}, superseded);
  // Else the one behind could be made to wait again and again.
  table_.Edit(receiver, [&](Copy& copy) { copy.flows.Make().granted = granted; });
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
  const OpenGrant* open = FirstGrant(receiver);
  const Copy* to = table_.Find(source);
  if (open == nullptr || to == nullptr) return false;
  const bool room = to->flow().used + Count(open->stripes) <= one_more_receiver();
  if (!room || Eligible(receiver, source, open->stripes) != open->stripes) return false;
  return Replace(receiver, Choice{source, open->stripes});
}

bool SourceSelector::MoveBehindOthers(NodeId receiver) {
  const OpenGrant* open = FirstGrant(receiver);
  return open != nullptr && Replace(receiver, FindFree(receiver, open->stripes, units_));
}

const OpenGrant* SourceSelector::FirstGrant(NodeId receiver) const {
  const Copy& copy = *table_.Find(receiver);
  const OpenGrant& open = table_.grants().at(copy.feed(std::countr_zero(copy.fed())).grant);
  return open.adopted ? nullptr : &open;
}

bool SourceSelector::Replace(NodeId receiver, const std::optional<Choice>& better) {
  const Copy& copy = *table_.Find(receiver);
  const GrantId old = copy.feed(std::countr_zero(copy.fed())).grant;
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
  if (copy.leaf && source->flow().leaves > 0) return 0;
  StripeMask eligible = 0;
  for (const std::uint32_t stripe : StripesOf(need)) {
    const std::uint32_t has = source->marks[stripe];
    const std::uint32_t lacks_from = copy.marks[stripe];
    const StripeMask bit = StripeMask{1} << stripe;
    const bool ahead =
        has > lacks_from || (has == lacks_from && EqualityOk(receiver, source_id, bit));
    if (when == Ahead::kNow && !source->final() && !ahead) continue;
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
  const bool resumes = table_.Find(receiver)->lag() != Time{};
  Time lag = source.final() ? Time{} : source.lag() + hop_;
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
    Flow& flow = copy.flows.Make();
    if (flow.granted == Time{}) flow.granted = rules_.now;
  });
  decisions_.push_back(decision);
}

}  // namespace hoplite::planner
