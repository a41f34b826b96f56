#include "cli/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/tree.h"

namespace hoplite::cli {
namespace {

using testing::ElementsAre;

const std::vector<ObjectId> kOwn = {ObjectId::FromName("source")};

// Three members of an object of 4000 bytes in four stripes. Stripes 0 and 1 end at n1, 2 at n2, 3
// at n3.
std::vector<SlotInfo> Three() {
  return {{1, 2, "n1", kOwn, 1000, {2, 5}, {2, 3}},    {2, 3, "n2", kOwn, 1500, {3, 6}, {0, 1, 3}},
          {3, 1, "n3", kOwn, 3000, {1, 4}, {0, 1, 2}}, {4, 0, "n1", kOwn, 500, {}, {0, 1}},
          {5, 0, "n2", kOwn, 1000, {}, {2}},           {6, 0, "n3", kOwn, 0, {}, {3}}};
}

TEST(DrawRing, ShowsMembersInTurnWithWhatTheyPassOnAndMake) {
  std::vector<SlotInfo> slots = Three();
  EXPECT_THAT(DrawRing(slots, 4000),
              ElementsAre("ring: each feeds the next, the last one the first",
                          "├─ n1  1 source, passes on 2 stripes: 50 %, makes 2: 25 %",
                          "├─ n2  1 source, passes on 3 stripes: 50 %, makes 1: 100 %",
                          "└─ n3  1 source, passes on 3 stripes: 100 %, makes 1: 0 %"));
  EXPECT_EQ(DrawReduction(slots, 4000), DrawRing(slots, 4000));
}

TEST(DrawRing, FollowsTheFeedsWhateverTheNumbers) {
  std::vector<SlotInfo> slots = Three();
  std::swap(slots[1], slots[2]);  // n3 comes before n2, whom it is fed by
  EXPECT_THAT(DrawRing(slots, 0),
              ElementsAre("ring: each feeds the next, the last one the first",
                          "├─ n1  1 source, passes on 2 stripes: 1000 B, makes 2: 500 B",
                          "├─ n2  1 source, passes on 3 stripes: 1.5 KiB, makes 1: 1000 B",
                          "└─ n3  1 source, passes on 3 stripes: 2.9 KiB, makes 1: 0 B"));
}

TEST(DrawRing, ShowsLeavesBelow) {
  std::vector<SlotInfo> slots = Three();
  slots.push_back({7, 4, "n4", kOwn, 4000, {4, 5, 6}, {0, 1, 2, 3}});
  slots.push_back({8, 4, "", {}, 0, {4, 5, 6}, {0, 1, 2, 3}});
  const std::vector<std::string> lines = DrawRing(slots, 4000);
  EXPECT_THAT(std::vector(lines.begin() + 4, lines.end()),
              ElementsAre("leaves: read by all of them", "├─ n4  1 source, 100 %", "└─ vacant"));
}

// With two members each feeds the other's root only; with fewer stripes than members one makes none.
TEST(DrawRing, HasMembersThatFeedOneSlotOnly) {
  EXPECT_THAT(DrawRing({{1, 4, "n1", kOwn, 0, {4}, {1}},
                        {2, 3, "n2", kOwn, 0, {3}, {0}},
                        {3, 0, "n1", kOwn, 0, {}, {0}},
                        {4, 0, "n2", kOwn, 0, {}, {1}}},
                       1000),
              ElementsAre("ring: each feeds the next, the last one the first",
                          "├─ n1  1 source, passes on 1 stripe: 0 %, makes 1: 0 %",
                          "└─ n2  1 source, passes on 1 stripe: 0 %, makes 1: 0 %"));
  std::vector<SlotInfo> slots = Three();
  slots.erase(slots.end() - 1);
  slots[1].parents = {3};
  EXPECT_THAT(DrawRing(slots, 4000).back(),
              testing::EndsWith("passes on 3 stripes: 100 %, makes none"));
}

TEST(DrawRing, EndsOnAPictureOfTwoPlans) {
  std::vector<SlotInfo> slots = Three();
  slots[2].parent = 9;  // gone
  slots[2].parents = {9};
  EXPECT_EQ(DrawRing(slots, 4000).size(), 4u);
  slots[1].parent = 2;  // itself
  EXPECT_EQ(DrawRing(slots, 4000).size(), 4u);
}

TEST(IsRing, IsOneIfThereAreSeveralRoots) {
  EXPECT_TRUE(IsRing(Three()));
  EXPECT_FALSE(IsRing({{1, 2, "n1", kOwn, 0, {2}, {0}}, {2, 0, "n2", kOwn, 0, {}, {0}}}));
  EXPECT_FALSE(IsRing({}));
}

}  // namespace
}  // namespace hoplite::cli
