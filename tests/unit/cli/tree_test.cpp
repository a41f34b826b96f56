#include "cli/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::cli {
namespace {

using testing::ElementsAre;

TEST(DrawTree, PutsChildrenBelowTheirSource) {
  EXPECT_THAT(DrawTree({{"n2", "n1"}, {"n3", "n2"}, {"n4", "n1"}}, {"n1"}, {{"n3", "5 %"}}),
              ElementsAre("n1", "├─ n2", "│  └─ n3  5 %", "└─ n4"));
}

TEST(DrawTree, ShowsRootsThatFeedNobodyAndRootsThatNobodyNamed) {
  EXPECT_THAT(DrawTree({{"n3", "n2"}}, {"n1"}, {}), ElementsAre("n1", "n2", "└─ n3"));
}

TEST(DrawTree, EndsOnACircle) {
  EXPECT_THAT(DrawTree({{"n2", "n3"}, {"n3", "n2"}}, {}, {}), ElementsAre("n2", "└─ n3"));
}

// Figure 5a: six sources in the order of their arrival, two children for each slot.
TEST(DrawReduction, PutsFeedersBelowWhomTheyFeed) {
  const ObjectId source = ObjectId::FromName("source");
  const std::vector<SlotInfo> slots = {{1, 2, "n1", {source}, 1000},
                                       {2, 4, "n2", {source}, 500},
                                       {3, 2, "n3", {source}, 1000},
                                       {4, 0, "n4", {source}, 0},
                                       {5, 6, "", {}, 0},
                                       {6, 4, "n6", {source, source}, 250}};
  EXPECT_THAT(
      DrawReduction(slots, 1000),
      ElementsAre("4 n4  1 source, 0 %", "├─ 2 n2  1 source, 50 %", "│  ├─ 1 n1  1 source, 100 %",
                  "│  └─ 3 n3  1 source, 100 %", "└─ 6 n6  2 sources, 25 %", "   └─ 5 vacant"));
}

TEST(DrawReduction, KeepsTheOrderOfSlotsBeyondNine) {
  std::vector<SlotInfo> slots = {{10, 0, "a", {}, 0}, {9, 10, "b", {}, 0}, {11, 10, "c", {}, 0}};
  EXPECT_THAT(
      DrawReduction(slots, 0),
      ElementsAre("10 a  no source, 0 B", "├─  9 b  no source, 0 B", "└─ 11 c  no source, 0 B"));
}

// Each stripe has one tree. A leaf is in both, and what it has of each is about the same.
TEST(DrawReduction, ShowsATreeBelowEachRoot) {
  const std::vector<ObjectId> own = {ObjectId::FromName("source")};
  const std::vector<SlotInfo> slots = {
      {1, 0, "n1", own, 60, {}, {0, 2}},           {2, 0, "n2", own, 125, {}, {1, 3}},
      {3, 1, "n3", own, 250, {1}, {0, 2}},         {4, 2, "n1", own, 500, {2}, {1, 3}},
      {5, 3, "n2", own, 500, {3}, {0, 2}},         {6, 2, "n3", own, 500, {2}, {1, 3}},
      {7, 3, "n4", own, 500, {3, 2}, {0, 1, 2, 3}}};
  EXPECT_THAT(DrawReduction(slots, 1000),
              ElementsAre("stripes 0 2:",                   //
                          "  1 n1  1 source, 12 %",         //
                          "  └─ 3 n3  1 source, 50 %",      //
                          "     ├─ 5 n2  1 source, 100 %",  //
                          "     └─ 7 n4  1 source, 50 %",   //
                          "stripes 1 3:",                   //
                          "  2 n2  1 source, 25 %",         //
                          "  ├─ 4 n1  1 source, 100 %",     //
                          "  ├─ 6 n3  1 source, 100 %",     //
                          "  └─ 7 n4  1 source, 50 %"));
}

}  // namespace
}  // namespace hoplite::cli
