// What becomes of a node's objects when a shard speaks: rules R4, R5, R17, R18, R47.
#include "node/shard/shard_words.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const Version kPresent{{1, 5}};
const Version kLater{{1, 6}};
constexpr std::uint64_t kLargeBytes = 1_MiB;

class ShardWordsTest : public hoplite::testing::NodeByHandTest {
 protected:
  // A Put that is announced and not answered.
  std::shared_ptr<Draft> Announced() {
    const auto draft = node_.Ask(node_.calls().Create(x_, kLargeBytes, "", node_.NewCall()));
    EXPECT_THAT(node_.Says(), ElementsAre("create x"));
    return *draft && **draft ? ***draft : nullptr;
  }
  store::CopyPtr Listed() { return node_.parts().store.Find(x_); }
  std::uint64_t used_bytes() { return node_.parts().store.usage().used_bytes; }
};

// --- of Puts

TEST_F(ShardWordsTest, AnAcceptedCreateThatNobodyMakesHereIsSentBack) {
  node_.Hear(protocol::CreateAccepted{x_, kPresent});
  EXPECT_THAT(node_.Says(), ElementsAre("gone x")) << "others must not be sent here";
}

TEST_F(ShardWordsTest, AnAcceptedCopyIsListedAndARefusedOneGoes) {
  const auto draft = Announced();
  EXPECT_EQ(Listed(), nullptr);
  node_.Hear(protocol::CreateAccepted{x_, kPresent});
  ASSERT_EQ(Listed(), draft->copy());
  EXPECT_EQ(Listed()->version(), kPresent);

  const ObjectId y = node_.Named("y");
  const auto other = node_.Ask(node_.calls().Create(y, kLargeBytes, "", node_.NewCall()));
  node_.Hear(protocol::CreateRefused{y, ErrorCode::kAlreadyExists, "somebody has it"});
  EXPECT_EQ((**other)->get()->Advance(100, {}).error().message, "somebody has it");
  EXPECT_EQ((**other)->get()->copy()->state(), store::CopyState::kVoid);
}

TEST_F(ShardWordsTest, NothingIsBelievedOfACreateThatWasTakenBackUntilThatIsConfirmed) {
  Announced().reset();
  EXPECT_THAT(node_.Says(), ElementsAre("withdraw x"));
  EXPECT_EQ(used_bytes(), 0u);
  const auto next = node_.Ask(node_.calls().Create(x_, kLargeBytes, "", node_.NewCall()));
  EXPECT_FALSE(*next) << "it waits";
  node_.Hear(protocol::CreateAccepted{x_, kPresent});
  node_.Hear(protocol::CreateRefused{x_, ErrorCode::kAlreadyExists, "no"});
  EXPECT_FALSE(*next);
  EXPECT_THAT(node_.Says(), IsEmpty());
  EXPECT_THAT(node_.Inventory(), ElementsAre("withdraw x"));
  node_.Hear(protocol::CreateRefused{x_, ErrorCode::kCancelled, "taken back"});
  EXPECT_TRUE(*next && **next);
  EXPECT_THAT(node_.Says(), ElementsAre("create x"));
}

// --- of copies

TEST_F(ShardWordsTest, ADeletedObjectLeavesAMarkOnly) {
  node_.Keep(x_, "bytes", kPresent, store::CopyKind::kPrimary);
  node_.Hear(protocol::Deleted{x_, 60s, kLater});
  EXPECT_EQ(Listed(), nullptr);
  EXPECT_EQ(used_bytes(), 0u);
  EXPECT_THAT(node_.Inventory(), ElementsAre("tombstone x"));
  node_.Pass(61s);
  EXPECT_THAT(node_.Inventory(), IsEmpty());
}

TEST_F(ShardWordsTest, ADeleteEndsAPutWhetherItIsAnsweredOrNot) {
  for (const bool accepted : {false, true}) {
    const auto draft = Announced();
    if (accepted) node_.Hear(protocol::CreateAccepted{x_, kPresent});
    node_.Hear(protocol::Deleted{x_, 1s, kLater});
    EXPECT_EQ(draft->Advance(100, {}).error().code, ErrorCode::kDeleted);
    EXPECT_EQ(draft->copy()->void_reason(), store::VoidReason::kDeleted);
    EXPECT_EQ(Listed(), nullptr);
    node_.Pass(2s);
    node_.Says();
  }
}

TEST_F(ShardWordsTest, ARecallReachesOlderVersionsOnly) {
  const auto copy = node_.Keep(x_, "bytes", kPresent, store::CopyKind::kRelayed);
  node_.Hear(protocol::Recall{x_, kPresent});
  EXPECT_EQ(Listed(), copy);
  node_.Hear(protocol::Recall{x_, kLater});
  EXPECT_EQ(Listed(), nullptr);
  EXPECT_EQ(copy->void_reason(), store::VoidReason::kRecalled) << "readers see it";
}

TEST_F(ShardWordsTest, ARecallIsNoAnswerToACreate) {
  const auto draft = Announced();
  node_.Hear(protocol::Recall{x_, kLater});
  EXPECT_TRUE(draft->Advance(100, {}));
  node_.Hear(protocol::CreateAccepted{x_, kPresent});
  node_.Hear(protocol::Recall{x_, kLater});
  EXPECT_EQ(draft->Advance(200, {}).error().code, ErrorCode::kRecalled);
}

TEST_F(ShardWordsTest, ACopyGoesOrStaysAsTheShardAnswers) {
  node_.Keep(x_, "bytes", kPresent, store::CopyKind::kRelayed);
  node_.Hear(protocol::EvictAnswer{x_, kPresent, false});
  EXPECT_EQ(node_.parts().store.KindOf(x_), store::CopyKind::kPrimary);
  node_.Hear(protocol::EvictAnswer{x_, kLater, true});
  EXPECT_NE(Listed(), nullptr) << "of another version";
  node_.Hear(protocol::EvictAnswer{x_, kPresent, true});
  EXPECT_EQ(Listed(), nullptr);
}

// --- of fetches

TEST_F(ShardWordsTest, AGrantThatNobodyAskedForIsClosed) {
  node_.Hear(protocol::Grant{.object = x_, .version = kPresent, .grant = {{1, 9}}, .stripes = 1});
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned"));
}

TEST_F(ShardWordsTest, WhoeverWaitsForADeletedObjectIsTold) {
  const auto waits = node_.Ask(node_.calls().Get(x_, node_.NewCall()));
  node_.Hear(protocol::Deleted{x_, 60s, kLater});
  ASSERT_TRUE(*waits);
  EXPECT_EQ((**waits).error().code, ErrorCode::kDeleted);
}

// --- of sessions

TEST_F(ShardWordsTest, ANodeThatWasAwayForTooLongJoinsEmpty) {
  const auto copy = node_.Keep(x_, "bytes", kPresent, store::CopyKind::kPrimary);
  node_.directory().hooks.on_outlived(0);
  EXPECT_THAT(node_.Inventory(), IsEmpty());
  EXPECT_EQ(copy->void_reason(), store::VoidReason::kLost);
}

TEST_F(ShardWordsTest, ANodeThatWasLostAsksForNewGrants) {
  const auto waits = node_.Ask(node_.calls().Get(x_, node_.NewCall()));
  node_.Hear(protocol::Located{x_, kPresent, Layout::For(kLargeBytes), ""});
  node_.Hear(
      protocol::Grant{.object = x_,
                      .version = kPresent,
                      .grant = {{1, 9}},
                      .source = {NodeId{4}, "n4", hoplite::testing::TransportByHand::kNowhere},
                      .stripes = 1});
  node_.Says();
  node_.directory().hooks.on_lost(0);
  EXPECT_THAT(node_.Inventory(), ElementsAre("held x partial pulling"));
  node_.transport().FailConnect();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned", "want x"));
}

TEST_F(ShardWordsTest, AfterASessionTheSameEvictionsAreAskedForAgain) {
  node_.Keep(x_, std::string(3_MiB, 'x'), kPresent, store::CopyKind::kRelayed);
  const auto put =
      node_.Ask(node_.calls().Create(node_.Named("y"), 2_MiB, "", node_.NewCall(node_.now() + 1h)));
  EXPECT_THAT(node_.Says(), ElementsAre("evict? x"));
  node_.Pass(2s);
  EXPECT_THAT(node_.Says(), IsEmpty()) << "the question is under way";
  node_.directory().hooks.on_session(0, false);
  node_.directory().hooks.on_session(0, true);
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("evict? x"));
  node_.Hear(protocol::EvictAnswer{x_, kPresent, true});
  EXPECT_THAT(node_.Says(), ElementsAre("create y"));
  EXPECT_TRUE(*put && **put);
}

}  // namespace
}  // namespace hoplite::node
