#include "planner/reduce/two_trees.h"

#include <utility>

#include "planner/copies/stripe_groups.h"

namespace hoplite::planner {
namespace {

constexpr std::size_t kTwo = 2;

// Who folds this child, of so many below the first of `folders`: all fold equally many, the first ones
// one more. Whoever folds comes before those whom it folds, since each folds at least one.
std::size_t FolderOf(std::size_t child, std::size_t children, std::size_t folders) {
  const std::size_t least = children / folders;
  const std::size_t with_more = children % folders;
  const std::size_t of_these = with_more * (least + 1);
  return child < of_these ? child / (least + 1) : with_more + (child - of_these) / least;
}

class Plan {
 public:
  Plan(const std::vector<NodeId>& members, const Layout& layout)
      : members_(members), cut_(StripeGroups::Forest(kTwo, layout, kNoNode)) {
    for (std::size_t i = 0; i < members.size(); ++i) Add(members[i], Stripes(i % kTwo, layout));
    for (std::size_t i = 0; i < members.size(); ++i) Add(members[i], Stripes(1 - i % kTwo, layout));
    for (std::size_t tree = 0; tree < kTwo; ++tree) Connect(tree);
  }
  std::vector<SlotOrder> Take() { return std::move(orders_); }

 private:
  StripeMask Stripes(std::size_t tree, const Layout& layout) const {
    return cut_.stripes(tree, layout);
  }

  void Add(NodeId node, StripeMask stripes) {
    const auto slot = static_cast<std::uint32_t>(orders_.size() + 1);
    orders_.push_back(
        {.slot = slot, .parents = {}, .stripes = stripes, .node = node, .inputs = {}});
  }

  // Those at home stand first, level by level: so all others are as near to the root as can be.
  void Connect(std::size_t tree) {
    std::vector<std::size_t> places;  // indexes of orders
    for (std::size_t i = tree; i < members_.size(); i += kTwo) places.push_back(i);
    const std::size_t homes = places.size();
    for (std::size_t i = 1 - tree; i < members_.size(); i += kTwo) {
      places.push_back(members_.size() + i);
    }
    const std::size_t children = places.size() - 1;
    for (std::size_t child = 0; child < children; ++child) {
      SlotOrder& folder = orders_[places[FolderOf(child, children, homes)]];
      orders_[places[child + 1]].parents.push_back(folder.slot);
      ++folder.children;
    }
  }

  const std::vector<NodeId>& members_;
  StripeGroups cut_;
  std::vector<SlotOrder> orders_;
};

}  // namespace

bool MakesTwoTrees(std::size_t members, const Layout& layout) {
  return layout.stripe_count >= kTwo && members >= 2;
}

std::vector<SlotOrder> TwoTrees(const std::vector<NodeId>& members, const Layout& layout) {
  return Plan(members, layout).Take();
}

}  // namespace hoplite::planner
