// Calls that rely on an owner of what they wait for: what the shard hears, and what they are answered
// when there is none (R59).
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/local/existence.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class ExpectingTest : public hoplite::testing::NodeByHandTest {
 protected:
  using Answer = NodeByHand::Answer<Result<store::CopyPtr>>;

  CallPtr Relying() {
    const CallPtr call = node_.NewCall();
    call->only_if_owned = true;
    return call;
  }
  Answer Get(const CallPtr& call) { return node_.Ask(node_.calls().Get(x_, call)); }
  // The number in the newest request.
  std::uint64_t Newest() {
    std::uint64_t newest = 0;
    for (const protocol::NodeEvent& event : node_.directory().said) {
      if (const auto* locate = std::get_if<protocol::Locate>(&event)) newest = locate->expects;
      if (const auto* watch = std::get_if<protocol::Subscribe>(&event)) newest = watch->expects;
    }
    return newest;
  }
  static ErrorCode CodeOf(const Answer& answer) {
    return *answer && !**answer ? (**answer).error().code : ErrorCode::kInternal;
  }
};

TEST_F(ExpectingTest, AGetIsAnsweredThatNobodyOwns) {
  const Answer answer = Get(Relying());
  const std::uint64_t number = Newest();
  EXPECT_THAT(node_.Says(), ElementsAre("locate x if owned"));
  node_.Hear(protocol::Unowned{x_, number});
  ASSERT_EQ(CodeOf(answer), ErrorCode::kDeleted);
  EXPECT_THAT((**answer).error().message, HasSubstr("nobody owns it"));
  EXPECT_THAT(node_.Says(), ElementsAre("cancel locate x"));
}

TEST_F(ExpectingTest, WhoReliesOnNobodyWaitsOn) {
  const CallPtr patient = node_.NewCall();
  const Answer waits = Get(patient);
  EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  const Answer relies = Get(Relying());
  const std::uint64_t number = Newest();
  EXPECT_THAT(node_.Says(), ElementsAre("locate x if owned")) << "it is asked again";
  node_.Hear(protocol::Unowned{x_, number});
  EXPECT_EQ(CodeOf(relies), ErrorCode::kDeleted);
  EXPECT_FALSE(*waits);
  patient->Cancel();
  node_.Turn();
}

// Between the two somebody may have begun to own it.
TEST_F(ExpectingTest, AnAnswerToAnOlderCallSaysNothingToALaterOne) {
  const Answer first = Get(Relying());
  const std::uint64_t number = Newest();
  const CallPtr later = Relying();
  const Answer second = Get(later);
  node_.Hear(protocol::Unowned{x_, number});
  EXPECT_EQ(CodeOf(first), ErrorCode::kDeleted);
  EXPECT_FALSE(*second);
  node_.Hear(protocol::Unowned{x_, Newest()});
  EXPECT_EQ(CodeOf(second), ErrorCode::kDeleted);
}

TEST_F(ExpectingTest, AnInventoryRepeatsWhoRelies) {
  const CallPtr call = Relying();
  const Answer answer = Get(call);
  node_.EndSession();
  node_.OpenSession();
  EXPECT_THAT(node_.Inventory(), ElementsAre("locate x if owned"));
  call->Cancel();
  node_.Turn();
  EXPECT_THAT(node_.Inventory(), IsEmpty());
}

TEST_F(ExpectingTest, AReaderIsAnsweredAlike) {
  const Answer answer = node_.Ask(node_.calls().Open(x_, Relying()));
  node_.Hear(protocol::Unowned{x_, Newest()});
  EXPECT_EQ(CodeOf(answer), ErrorCode::kDeleted);
}

TEST_F(ExpectingTest, AWaitHearsWhichCanNotCome) {
  const ObjectId y = node_.Named("y");
  const CallPtr call = Relying();
  {
    const Existence existence(node_.calls(), {x_, y}, *call);
    EXPECT_THAT(node_.Says(), ElementsAre("subscribe x if owned", "subscribe y if owned"));
    EXPECT_FALSE(existence.Missing(2));
    node_.Hear(protocol::Unowned{y, 1000});
    EXPECT_EQ(existence.Missing(2), y);
    EXPECT_FALSE(existence.Missing(1)) << "x may come";
    node_.Hear(protocol::Deleted{x_, 60s, Version{{1, 6}}});
    EXPECT_EQ(existence.Missing(1), x_);
  }
  // One that relies on nobody hears of Deletes alone.
  const CallPtr patient = node_.NewCall();
  const Existence existence(node_.calls(), {y}, *patient);
  node_.Hear(protocol::Unowned{y, 1000});
  EXPECT_FALSE(existence.Missing(1));
}

}  // namespace
}  // namespace hoplite::node
