#include "planner/serving/forest.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <ranges>
#include <vector>

#include "planner/copies/broadcast_cost.h"

namespace hoplite::planner {
namespace {

// Before it in the order of those who wait is whoever lost a source or has something.
constexpr ParkedKey kFirstNewcomer{
    .waits = true, .home = Home::kNone, .behind = std::numeric_limits<std::uint64_t>::max()};

}  // namespace

void Forest::CutIfItPays(const LinkModel& link, std::uint64_t members, std::uint64_t always_from) {
  if (table_.group_count() > 1 || !table_.sources_whole()) return;
  const Layout& layout = table_.layout();
  // Most passes have few who wait; the others count those who have nothing.
  const auto best = [&](std::uint64_t receivers) {
    return BestForest(receivers, layout, link, always_from);
  };
  if (best(table_.parked(0).size()) == 1) return;
  const std::uint64_t groups = best(Newcomers());
  if (groups > 1) table_.Cut(std::max(groups, best(members)));
}

std::size_t Forest::Newcomers() const {
  const auto& parked = table_.parked(0);
  return static_cast<std::size_t>(std::distance(parked.lower_bound(kFirstNewcomer), parked.end()));
}

void Forest::SettleMaker(NodeId maker) {
  const StripeMask makes = table_.Find(maker)->produces;
  if (!table_.forest() || makes == 0) return;
  table_.SetHome(maker, table_.GroupOf(static_cast<std::uint32_t>(std::countr_zero(makes))));
}

// Who was fed before the cut, or has something from a former life, has no home: it stands between the
// origin and the trees.
void Forest::DealHomes() {
  if (!table_.forest()) return;
  const auto& parked = table_.parked(0);
  std::vector<NodeId> newcomers;
  for (auto at = parked.lower_bound(kFirstNewcomer); at != parked.end() && at->home == Home::kNone;
       ++at) {
    if (table_.Find(at->node)->place(0).lag == Time{}) newcomers.push_back(at->node);
  }
  for (const NodeId node : newcomers) table_.SetHome(node, FewestHomes());
}

std::size_t Forest::FewestHomes() const {
  const auto groups = std::views::iota(std::size_t{0}, table_.group_count());
  return *std::ranges::min_element(groups, {}, [&](std::size_t g) { return table_.homes(g); });
}

}  // namespace hoplite::planner
