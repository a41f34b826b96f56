// A version that several members make together, each the origin of its own stripes, and read.
#include "roots.h"

namespace hoplite::planner {
namespace {

TEST_F(Roots, AVersionIsStartedInGroupsEachWithItsOrigin) {
  Make(4);
  ASSERT_EQ(table().group_count(), 4U);
  for (std::uint32_t member = 1; member <= 4; ++member) {
    EXPECT_EQ(table().stripes(member - 1), Made(member));
    EXPECT_EQ(table().origin(member - 1), Node(member));
  }
}

TEST_F(Roots, ItIsThereWhileAllItsMakersAre) {
  Make(4);
  EXPECT_TRUE(record().exists());
  Lose(Node(3));
  EXPECT_FALSE(record().exists());
}

}  // namespace
}  // namespace hoplite::planner
