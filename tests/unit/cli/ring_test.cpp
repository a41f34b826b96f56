#include "cli/ring.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "cli/tree.h"

namespace hoplite::cli {
namespace {

using testing::ElementsAre;

const std::vector<ObjectId> kOwn = {ObjectId::FromName("source")};

// Three members of an object of 4 stripes, 256 KiB each. Stripes 0 and 1 end at n1, 2 at n2, 3 at n3.
constexpr std::uint64_t kSize = 1_MiB;
std::vector<SlotInfo> Three() {
  return {{1, 2, "n1", kOwn, 256_KiB, {2, 5}, {2, 3}},
          {2, 3, "n2", kOwn, 384_KiB, {3, 6}, {0, 1, 3}},
          {3, 1, "n3", kOwn, 768_KiB, {1, 4}, {0, 1, 2}},
          {4, 0, "n1", kOwn, 128_KiB, {}, {0, 1}},
          {5, 0, "n2", kOwn, 256_KiB, {}, {2}},
          {6, 0, "n3", kOwn, 0, {}, {3}}};
}

TEST(DrawRing, ShowsMembersInTurnWithWhatTheyPassOnAndMake) {
  std::vector<SlotInfo> slots = Three();
  EXPECT_THAT(DrawRing(slots, kSize),
              ElementsAre("┌──▶ n1  1 source, passes on 2 of 4 stripes: 50 %, makes 2: 25 %",
                          "│    n2  1 source, passes on 3 of 4 stripes: 50 %, makes 1: 100 %",
                          "└─── n3  1 source, passes on 3 of 4 stripes: 100 %, makes 1: 0 %"));
  EXPECT_EQ(DrawReduction(slots, kSize), DrawRing(slots, kSize));
}

TEST(DrawRing, FollowsTheFeedsWhateverTheNumbers) {
  std::vector<SlotInfo> slots = Three();
  std::swap(slots[1], slots[2]);  // n3 comes before n2, whom it is fed by
  EXPECT_THAT(
      DrawRing(slots, 0),
      ElementsAre("┌──▶ n1  1 source, passes on 2 of 4 stripes: 256.0 KiB, makes 2: 128.0 KiB",
                  "│    n2  1 source, passes on 3 of 4 stripes: 384.0 KiB, makes 1: 256.0 KiB",
                  "└─── n3  1 source, passes on 3 of 4 stripes: 768.0 KiB, makes 1: 0 B"));
}

// One block more than three rounds of stripes: stripe 0 is longer than the others.
TEST(DrawRing, CountsWhatTheStripesHoldWhereTheyAreNotAlike) {
  const std::vector<SlotInfo> slots = {{1, 4, "n1", kOwn, 3 * 16_KiB, {4}, {1}},
                                       {2, 3, "n2", kOwn, 4 * 16_KiB, {3}, {0}},
                                       {3, 0, "n1", kOwn, 4 * 16_KiB, {}, {0}},
                                       {4, 0, "n2", kOwn, 3 * 16_KiB, {}, {1}}};
  EXPECT_THAT(DrawRing(slots, 7 * 16_KiB),
              ElementsAre("┌──▶ n1  1 source, passes on 1 of 2 stripes: 100 %, makes 1: 100 %",
                          "└─── n2  1 source, passes on 1 of 2 stripes: 100 %, makes 1: 100 %"));
}

// With two members each feeds the other's root only; with fewer stripes than members one makes none.
TEST(DrawRing, HasMembersThatFeedOneSlotOnly) {
  EXPECT_THAT(DrawRing({{1, 4, "n1", kOwn, 0, {4}, {1}},
                        {2, 3, "n2", kOwn, 0, {3}, {0}},
                        {3, 0, "n1", kOwn, 0, {}, {0}},
                        {4, 0, "n2", kOwn, 0, {}, {1}}},
                       kSize),
              ElementsAre("┌──▶ n1  1 source, passes on 1 of 2 stripes: 0 %, makes 1: 0 %",
                          "└─── n2  1 source, passes on 1 of 2 stripes: 0 %, makes 1: 0 %"));
  std::vector<SlotInfo> slots = Three();
  slots.erase(slots.end() - 1);
  slots[1].parents = {3};
  EXPECT_THAT(DrawRing(slots, kSize).back(),
              testing::EndsWith("passes on 3 of 4 stripes: 100 %, makes none"));
}

TEST(DrawRing, EndsOnAPictureOfTwoPlans) {
  std::vector<SlotInfo> slots = Three();
  slots[2].parent = 9;  // gone
  slots[2].parents = {9};
  EXPECT_EQ(DrawRing(slots, kSize).size(), 3u);
  slots[1].parent = 2;  // itself
  EXPECT_EQ(DrawRing(slots, kSize).size(), 3u);
}

TEST(IsRing, IsOneIfThereAreSeveralRoots) {
  EXPECT_TRUE(IsRing(Three()));
  EXPECT_FALSE(IsRing({{1, 2, "n1", kOwn, 0, {2}, {0}}, {2, 0, "n2", kOwn, 0, {}, {0}}}));
  EXPECT_FALSE(IsRing({}));
}

}  // namespace
}  // namespace hoplite::cli
