#include "planner/serving/sources.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "planner/copies/broadcast_cost.h"
#include "planner/copies/dependents.h"
#include "planner/serving/rates.h"

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

Sources::Sources(const CopyTable& table, const PassRules& rules)
    : table_(table),
      rules_(rules),
      hop_(FromSeconds(
          HopSeconds(table.forest() ? table.group_count() : 1, table.layout(), rules.link))),
      soon_(std::min(kSoonHops * hop_, kLongestSoon)) {
  std::uint64_t receivers = 0;
  std::uint64_t degree = 0;
  for (std::size_t group = 0; group < table.group_count(); ++group) {
    const std::uint64_t before = std::exchange(
        receivers, std::uint64_t{table.parked(group).size()} + table.feeding(group).size());
    // Most groups have as many receivers as the one before.
    if (!table.forest() && (group == 0 || receivers != before))
      degree = BestDegree(receivers, table.layout(), rules.link);
    turns_.push_back(TurnOf(table.stripes(group), degree));
  }
  TurnTo(0);
}

Sources::Turn Sources::TurnOf(StripeMask stripes, std::uint64_t degree) const {
  const Layout& layout = table_.layout();
  if (table_.forest()) return {.receiver = Count(stripes), .units = layout.stripe_count};
  const std::uint32_t receiver = Count(table_.WithBlocks(stripes));
  const std::uint64_t served = rules_.unequal ? Rates::kMostReceivers : degree;
  return {.receiver = receiver,
          .units = static_cast<std::uint32_t>(served) * receiver,
          .in_a_line = degree == 1,
          .lead = rules_.fresh > Duration{0} ? BlocksIn(layout, stripes) / kHalf : 0};
}

void Sources::TurnTo(std::size_t group) {
  group_ = group;
  stripes_ = table_.stripes(group);
}

void Sources::TurnToFirst(NodeId receiver) {
  const StripeMask fed = table_.Find(receiver)->fed();
  const std::size_t group =
      fed == 0 ? group_ : table_.GroupOf(static_cast<std::uint32_t>(std::countr_zero(fed)));
  if (group != group_) TurnTo(group);
}

std::optional<Sources::Choice> Sources::Find(NodeId receiver, StripeMask need, std::uint32_t limit,
                                             Among among) {
  std::optional<Choice> choice;
  if (among != Among::kPartial) choice = LeastUsed(receiver, need, limit);
  if (choice || among == Among::kFinal) return choice;
  choice = LeastLag(receiver, need, limit, false);
  if (!choice && table_.forest()) choice = LeastLag(receiver, need, limit, true);
  return choice;
}

std::optional<Sources::Choice> Sources::LeastUsed(NodeId receiver, StripeMask need,
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

std::optional<Sources::Choice> Sources::LeastLag(NodeId receiver, StripeMask need,
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

std::optional<Sources::Choice> Sources::FindFallback(NodeId receiver, StripeMask need) const {
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

bool Sources::SomebodyFree(StripeMask need) const {
  const auto& sources = table_.sources(group_);
  const auto free = [&](const SourceKey& from) {
    const auto least_used = sources.lower_bound(from);
    return least_used != sources.end() && least_used->used + Count(need) <= units();
  };
  return free({}) || free({.partial = true}) || free({.partial = true, .away = true});
}

StripeMask Sources::Eligible(NodeId receiver, NodeId source_id, StripeMask need, Ahead when) const {
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
  const StripeMask eligible = when == Ahead::kNow ? AheadIn(receiver, source_id, need) : need;
  // A node that serves nobody has no descendants, but for those that have not heard that they were
  // moved away from it.
  const bool alone = copy.flow().serving.empty() && table_.knows_all_streams();
  if (eligible == 0 || alone) return eligible;
  return eligible & ~table_.DependsOn(source_id, receiver, eligible);
}

StripeMask Sources::AheadIn(NodeId receiver, NodeId source_id, StripeMask need) const {
  const Copy& source = *table_.Find(source_id);
  const Copy& copy = *table_.Find(receiver);
  StripeMask ahead = need & source.final_stripes();
  StripeMask equal = 0;
  for (const std::uint32_t stripe : StripesOf(need & ~ahead)) {
    if (source.marks[stripe] > copy.marks[stripe]) ahead |= BitOf(stripe);
    if (source.marks[stripe] == copy.marks[stripe]) equal |= BitOf(stripe);
  }
  if (equal != 0) ahead |= EqualityOk(receiver, source_id, equal);
  // A leaf's lag is that of its last source, whatever it has by now.
  table_.ForGroups(copy.leaf ? 0 : need & ~ahead, [&](std::size_t group, StripeMask part) {
    if (table_.IsSoonAhead(group, copy, source, soon_)) ahead |= part;
  });
  return ahead;
}

StripeMask Sources::MayServe(NodeId receiver, NodeId source, StripeMask need, bool more) const {
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

bool Sources::HasRoom(NodeId source, StripeMask stripes, bool more) const {
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

StripeMask Sources::EqualityOk(NodeId receiver, NodeId source, StripeMask stripes) const {
  if (!rules_.knows_members || !table_.knows_all_upstreams()) return 0;
  if (table_.knows_all_streams()) return stripes;
  return stripes & ~table_.MayDependOn(source, receiver, stripes);
}

}  // namespace hoplite::planner
