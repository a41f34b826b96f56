#include "planner/node/spill_state.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SpillStateTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCapacity = 1000_MiB;
  Time now_{std::chrono::hours(1)};
  SpillState state_;
};

TEST_F(SpillStateTest, NobodyWantsRoomAtFirst) {
  EXPECT_TRUE(state_.MayWrite(now_));
  EXPECT_FALSE(state_.Wanted(now_));
  EXPECT_EQ(state_.Ahead(now_), 0u);
}

TEST_F(SpillStateTest, WritesForTwiceWhatIsWantedUpToHalfTheStore) {
  state_.OnWanted(100_MiB, kCapacity, now_);
  EXPECT_EQ(state_.Wanted(now_), 100_MiB);
  EXPECT_EQ(state_.Ahead(now_), 200_MiB);
  state_.OnWanted(400_MiB, kCapacity, now_);
  EXPECT_EQ(state_.Ahead(now_), 500_MiB);
  state_.OnWanted(900_MiB, kCapacity, now_);
  EXPECT_EQ(state_.Ahead(now_), 900_MiB);
}

TEST_F(SpillStateTest, LittleIsWantedAgainAndAgain) {
  state_.OnWanted(4_KiB, kCapacity, now_);
  EXPECT_EQ(state_.Wanted(now_), 4_KiB);
  EXPECT_EQ(state_.Ahead(now_), 2_MiB);
  state_.OnWanted(4_KiB, 1_MiB, now_);
  EXPECT_EQ(state_.Ahead(now_), 512_KiB);
}

TEST_F(SpillStateTest, StopsWhenNobodyHasWantedAnyForASecond) {
  state_.OnWanted(100, kCapacity, now_);
  EXPECT_TRUE(state_.Wanted(now_ + milliseconds(999)));
  EXPECT_FALSE(state_.Wanted(now_ + seconds(1)));
  EXPECT_EQ(state_.Ahead(now_ + seconds(1)), 0u);
}

TEST_F(SpillStateTest, TwoWritesAtATime) {
  state_.OnBegun();
  EXPECT_TRUE(state_.MayWrite(now_));
  state_.OnBegun();
  EXPECT_FALSE(state_.MayWrite(now_));
  state_.OnVain();
  EXPECT_TRUE(state_.MayWrite(now_));
  state_.OnBegun();
  state_.OnWritten(now_);
  EXPECT_TRUE(state_.MayWrite(now_));
  EXPECT_EQ(state_.written_at(), now_);
}

TEST_F(SpillStateTest, ABrokenDiskIsLeftAloneForTenSecondsWhateverIsFreed) {
  state_.OnBegun();
  state_.OnFailed(SpillState::Failure::kBroken, 1, now_);
  EXPECT_TRUE(state_.broken(now_));
  state_.OnRoom();
  EXPECT_FALSE(state_.MayWrite(now_ + milliseconds(9999)));
  EXPECT_TRUE(state_.MayWrite(now_ + seconds(10)));
  EXPECT_FALSE(state_.broken(now_ + seconds(10)));
}

TEST_F(SpillStateTest, AFullDiskIsLeftAloneUntilRoomIsFreed) {
  state_.OnFull(now_);
  EXPECT_TRUE(state_.full(now_));
  EXPECT_FALSE(state_.MayWrite(now_));
  state_.OnRoom();
  EXPECT_TRUE(state_.MayWrite(now_));
  state_.OnBegun();
  state_.OnFailed(SpillState::Failure::kFull, 2, now_);
  state_.OnRoom();  // its own, as the next
  state_.OnRoom();
  EXPECT_FALSE(state_.MayWrite(now_));
  EXPECT_TRUE(state_.MayWrite(now_ + seconds(10)));
  state_.OnRoom();
  EXPECT_TRUE(state_.MayWrite(now_));
}

}  // namespace
}  // namespace hoplite::planner
