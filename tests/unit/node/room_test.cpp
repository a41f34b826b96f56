// A Get holds room while it asks, and its question is then its Want (R63).
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/pull/flight.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kRoomTestBytes = 128_KiB;
constexpr std::uint64_t kRoomTestStore = 64_MiB;
const Version kRoomVersion{{1, 5}};

class RoomTest : public ::testing::Test {
 protected:
  // Somebody asks; the answer to the question with this node's first room.
  void Ask() {
    answer_ = node_.Ask(node_.calls().Get(object_, call_));
    EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
    EXPECT_EQ(used(), 1_MiB);
  }
  protocol::Located Located(std::uint64_t wanted = 1) const {
    return {object_, kRoomVersion, layout_, "", false, wanted};
  }
  protocol::Grant Grant() const {
    return {.object = object_,
            .version = kRoomVersion,
            .grant = {{1, 1}},
            .source = source_,
            .stripes = layout_.all_stripes()};
  }
  std::uint64_t used() { return node_.parts().store.usage().used_bytes; }
  // Takes so many bytes of the store for good.
  store::CopyPtr Fill(std::uint64_t bytes) {
    MemoryBroker::Waiter waiter(node_.parts().memory, signal_);
    return waiter.Try(node_.Named("y"), Layout::For(bytes), "").value_or(nullptr);
  }

  NodeByHand node_{kRoomTestStore};
  const ObjectId object_ = node_.Named("x");
  const Layout layout_ = Layout::For(kRoomTestBytes);
  const protocol::NodeInfo& source_ = node_.AddPeer(2, std::string(kRoomTestBytes, 'a'), layout_);
  const CallPtr call_ = node_.NewCall();
  net::Signal signal_{node_.parts().runtime.main()};
  NodeByHand::Answer<Result<store::CopyPtr>> answer_;
};

TEST_F(RoomTest, BecomesTheCopyBeforeTheGrantIsHeard) {
  Ask();
  node_.directory().hooks.on_action(Located());
  EXPECT_EQ(used(), kRoomTestBytes) << "what is too much goes back at once";
  node_.Hear(Grant());
  EXPECT_THAT(node_.Says(), ElementsAre("closed x done", "complete x")) << "no Want is said";
  ASSERT_TRUE(*answer_ && **answer_);
  EXPECT_EQ((***answer_)->layout().size_bytes, kRoomTestBytes);
}

TEST_F(RoomTest, GoesBackWhenTheObjectIsLarger) {
  Ask();
  protocol::Located located = Located(0);
  located.layout = Layout::For(2_MiB);
  node_.Hear(located);
  EXPECT_THAT(node_.Says(), ElementsAre("want x"));
  EXPECT_EQ(used(), 2_MiB);
}

TEST_F(RoomTest, GoesBackWhenNobodyWaitsAnyMoreAndSoDoesTheWant) {
  Ask();
  call_->Cancel();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("cancel locate x"));
  EXPECT_EQ(used(), 0u);
  node_.Hear(Located());
  node_.Hear(Grant());
  EXPECT_THAT(node_.Says(), ElementsAre("cancel want x", "closed x abandoned"));
  EXPECT_EQ(used(), 0u);
}

// The call was cancelled, but its flight has not looked yet.
TEST_F(RoomTest, IsNotUsedByAFlightThatNobodyWaitsFor) {
  Ask();
  call_->Cancel();
  node_.parts().table.At(object_)->flight()->Supersede();
  node_.directory().hooks.on_action(Located());
  node_.Hear(Grant());
  EXPECT_THAT(node_.Says(), ElementsAre("cancel want x", "closed x abandoned"));
  EXPECT_EQ(used(), 0u);
}

TEST_F(RoomTest, IsHeldOnceHoweverManyWait) {
  Ask();
  const auto other = node_.Ask(node_.calls().Get(object_, node_.NewCall()));
  EXPECT_EQ(used(), 1_MiB);
}

TEST_F(RoomTest, WhoNeedsMemoryTakesItAndTheShardHearsOfIt) {
  Ask();
  const store::CopyPtr all = Fill(kRoomTestStore);
  ASSERT_TRUE(all) << "nothing is evicted for room, and nobody waits for it";
  EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  node_.Hear(Located());
  EXPECT_THAT(node_.Says(), ElementsAre("cancel locate x", "cancel want x", "subscribe x"))
      << "it waits for memory";
  node_.Hear(Grant());
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned"));
  EXPECT_EQ(used(), kRoomTestStore);
}

TEST_F(RoomTest, ASecondQuestionDoesNotTakeTheAnswerToTheFirstForItsWant) {
  Ask();
  call_->Cancel();
  node_.Turn();
  const auto again = node_.Ask(node_.calls().Get(object_, node_.NewCall()));
  EXPECT_THAT(node_.Says(), ElementsAre("cancel locate x", "locate x"));
  node_.Hear(Located(1));
  EXPECT_THAT(node_.Says(), ElementsAre("cancel want x", "want x"));
  EXPECT_EQ(used(), kRoomTestBytes);
  node_.Hear(Located(2));
  EXPECT_THAT(node_.Says(), IsEmpty()) << "it has said the same Want";
}

TEST_F(RoomTest, IsRepeatedInTheInventory) {
  Ask();
  node_.EndSession();
  node_.OpenSession();
  const auto events = node_.directory().hooks.inventory(0, std::nullopt, 1_MiB, {}).events;
  bool repeated = false;
  for (const protocol::NodeEvent& event : events) {
    const auto* locate = std::get_if<protocol::Locate>(&event);
    repeated = repeated || (locate != nullptr && locate->room == 1_MiB && locate->number == 1);
  }
  EXPECT_TRUE(repeated);
}

// Nothing is taken from others for it.
TEST_F(RoomTest, IsNotTakenForAReduction) {
  call_->hurries = true;
  answer_ = node_.Ask(node_.calls().Get(object_, call_));
  EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  EXPECT_EQ(used(), 0u);
}

TEST_F(RoomTest, IsNotTakenForBytesThatThisNodeHasPinned) {
  Ask();
  const auto bytes = std::make_shared<const std::string>(4_KiB, 'a');
  node_.Hear(protocol::InlineObject{object_, kRoomVersion, "", bytes});
  ASSERT_TRUE(*answer_ && **answer_);
  const auto again = node_.Ask(node_.calls().Get(object_, node_.NewCall()));
  EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  EXPECT_EQ(used(), 4_KiB);
  node_.Hear(protocol::InlineObject{object_, kRoomVersion, "", bytes});
  ASSERT_TRUE(*again && **again);
  EXPECT_EQ(***again, ***answer_) << "the same copy";
}

}  // namespace
}  // namespace hoplite::node
