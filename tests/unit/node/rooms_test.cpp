// Who holds memory while it asks where its object is (R63).
#include "node/memory/rooms.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class RoomsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Rooms::Room> Take(const std::string& who) {
    return rooms_.Take(now_, [this, who] { lost_.push_back(who); });
  }
  std::uint64_t used() const { return store_.usage().used_bytes; }

  store::ObjectStore store_{store::CreateHeapSegment(4_MiB), nullptr};
  Rooms rooms_{store_, {.each = 1_MiB, .all = 2_MiB}};
  Time now_ = Time(1h);
  std::vector<std::string> lost_;
};

TEST(RoomLimits, AreASmallPartOfTheStore) {
  EXPECT_EQ(Rooms::LimitsOf(64_GiB).each, 1_MiB);
  EXPECT_EQ(Rooms::LimitsOf(64_GiB).all, 16_MiB);
  EXPECT_EQ(Rooms::LimitsOf(128_MiB).all, 8_MiB);
  EXPECT_EQ(Rooms::LimitsOf(16_MiB).each, 512_KiB);
  EXPECT_EQ(Rooms::LimitsOf(0).each, 0u);
}

TEST_F(RoomsTest, RoomIsMemoryOfTheStoreUntilItIsGivenBack) {
  auto room = Take("a");
  ASSERT_TRUE(room);
  EXPECT_EQ(room->bytes(), 1_MiB);
  EXPECT_EQ(used(), 1_MiB);
  EXPECT_EQ(rooms_.bytes(), 1_MiB);
  room.reset();
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(rooms_.bytes(), 0u);
  EXPECT_THAT(lost_, IsEmpty()) << "whoever gives it back knows";
}

TEST_F(RoomsTest, ItLeavesNoHoleBetweenObjects) {
  auto room = Take("a");
  const auto put = [&](const char* name) {
    return store_.Create(ObjectId::FromName(name), Layout::For(2_MiB), "",
                         store::CopyKind::kPrimary);
  };
  ASSERT_TRUE(put("first"));
  room.reset();
  EXPECT_TRUE(put("second")) << "the rest of the store is one piece";
}

TEST_F(RoomsTest, BeyondTheLimitTheFirstKeepTheirs) {
  const auto a = Take("a");
  const auto b = Take("b");
  EXPECT_TRUE(b);
  EXPECT_FALSE(Take("c"));
  EXPECT_THAT(lost_, IsEmpty());
}

// Else those whose objects nobody puts would hold it all for ever.
TEST_F(RoomsTest, WhoAsksWhenAllIsGivenOutTakesWhatWasHeldForLong) {
  const auto a = Take("a");
  now_ += 50ms;
  const auto b = Take("b");
  now_ += 50ms;
  const auto c = Take("c");
  EXPECT_TRUE(c);
  EXPECT_THAT(lost_, ElementsAre("a"));
  EXPECT_FALSE(Take("d"));
  EXPECT_EQ(used(), 2_MiB);
}

TEST_F(RoomsTest, WhoNeedsMemoryTakesTheOldest) {
  auto a = Take("a");
  const auto b = Take("b");
  EXPECT_TRUE(rooms_.GiveUpOldest());
  EXPECT_THAT(lost_, ElementsAre("a"));
  EXPECT_EQ(used(), 1_MiB);
  a.reset();
  EXPECT_EQ(used(), 1_MiB) << "it was lost already";
  EXPECT_TRUE(rooms_.GiveUpOldest());
  EXPECT_FALSE(rooms_.GiveUpOldest());
  EXPECT_EQ(used(), 0u);
}

TEST_F(RoomsTest, AFullStoreHasNone) {
  const auto all = store_.Create(ObjectId::FromName("x"), Layout::For(4_MiB - 64), "",
                                 store::CopyKind::kPrimary);
  ASSERT_TRUE(all);
  EXPECT_FALSE(Take("a"));
}

TEST_F(RoomsTest, WhereNoneIsAllowedNoneIsTaken) {
  Rooms none(store_, {});
  EXPECT_FALSE(none.Take(now_, [] {}));
  EXPECT_EQ(used(), 0u);
}

}  // namespace
}  // namespace hoplite::node
