#include "planner/reduce/stripe_ring.h"

namespace hoplite::planner {
namespace {

StripeMask Below(std::size_t stripe) {
  return stripe == kMaxStripes ? ~StripeMask{0} : (StripeMask{1} << stripe) - 1;
}

// The stripes that end at each member: equally many, but for one, and in one piece.
std::vector<StripeMask> Shares(std::size_t members, const Layout& layout) {
  std::vector<StripeMask> shares;
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t begin = i * layout.stripe_count / members;
    const std::size_t end = (i + 1) * layout.stripe_count / members;
    shares.push_back(Below(end) & ~Below(begin));
  }
  return shares;
}

void CountChildren(std::vector<SlotOrder>& orders) {
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (const std::uint32_t parent : orders[i].parents) ++orders[parent - 1].children;
  }
}

}  // namespace

bool MakesRing(std::size_t members, const Layout& layout) {
  return layout.stripe_count >= 2 && members >= 2 && members <= kMostInARing;
}

std::vector<SlotOrder> StripeRing(const std::vector<NodeId>& members, const Layout& layout) {
  const StripeMask all = layout.all_stripes();
  const std::vector<StripeMask> shares = Shares(members.size(), layout);
  std::vector<SlotOrder> orders;
  const auto add = [&](NodeId node, StripeMask stripes) {
    const auto slot = static_cast<std::uint32_t>(orders.size() + 1);
    orders.push_back({.slot = slot, .parents = {}, .stripes = stripes, .node = node, .inputs = {}});
    return slot;
  };
  for (std::size_t i = 0; i < members.size(); ++i) add(members[i], all & ~shares[i]);

  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::size_t before = (i == 0 ? members.size() : i) - 1;
    const bool passes_on = (orders[before].stripes & orders[i].stripes) != 0;
    if (passes_on) orders[before].parents.push_back(orders[i].slot);
    if (shares[i] == 0) continue;
    const std::uint32_t root = add(members[i], shares[i]);
    orders[before].parents.push_back(root);
  }
  CountChildren(orders);
  return orders;
}

}  // namespace hoplite::planner
