// How a tree is arranged for nodes that can't reach each other (R68).
#include "planner/reduce/reduce_detours.h"

#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;

class ReduceDetours : public ::testing::Test {
 protected:
  // A line: each of the nodes folds what the one before it makes.
  void Line(const std::vector<int>& nodes) {
    plan_ = {};
    plan_.root = plan_.slots.Build(static_cast<std::uint32_t>(nodes.size()), 1);
    for (std::uint32_t slot = 1; slot <= nodes.size(); ++slot) {
      plan_.slots.Assign(slot, NodeId(static_cast<std::uint64_t>(nodes[slot - 1])));
      plan_.slots.at(slot).picks = {slot - 1};
    }
  }
  void CannotReach(const std::vector<std::pair<int, int>>& pairs) {
    for (const auto& [receiver, source] : pairs) {
      peers_.KeepApart(NodeId(static_cast<std::uint64_t>(receiver)),
                       NodeId(static_cast<std::uint64_t>(source)));
    }
  }
  std::vector<int> Arranged(const std::set<NodeId>& poor = {}) {
    AvoidBlocked(peers_, poor, plan_);
    std::vector<int> nodes;
    for (const PlannedSlot& planned : plan_.slots.all()) {
      nodes.push_back(static_cast<int>(Raw(planned.order.node)));
    }
    return nodes;
  }

  ReducePeers peers_{NodeId(1)};
  ReducePlan plan_;
};

TEST_F(ReduceDetours, TwoChangePlaces) {
  Line({1, 2, 3});
  CannotReach({{2, 1}});
  EXPECT_THAT(Arranged(), ElementsAre(2, 1, 3));
}

// Of the six lines of three there is one, and no two that change places come nearer to it.
TEST_F(ReduceDetours, OneGoesBetweenTwoOthers) {
  Line({2, 3, 1});
  CannotReach({{1, 2}, {1, 3}, {3, 1}});
  EXPECT_THAT(Arranged(), ElementsAre(1, 2, 3));
}

// Only the first of a line needs no memory.
TEST_F(ReduceDetours, WhoLacksMemoryStaysWhereItNeedsNone) {
  Line({4, 2, 3, 1});
  CannotReach({{3, 2}});
  EXPECT_THAT(Arranged({NodeId(4)}), ElementsAre(4, 3, 2, 1));
  Line({4, 2, 3, 1});
  CannotReach({{2, 3}, {1, 4}});
  EXPECT_THAT(Arranged({NodeId(4)}), ElementsAre(4, 2, 1, 3));
}

TEST_F(ReduceDetours, WhereNothingHelpsAllStayInTheirPlaces) {
  Line({1, 2});
  CannotReach({{1, 2}, {2, 1}});
  EXPECT_THAT(Arranged(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace hoplite::planner
