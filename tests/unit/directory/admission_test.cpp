// Which id a shard goes by, and who has to wait: every order in which nodes of one cluster or of
// two may come (docs/protocol.md, R44).
#include "directory/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "directory/cluster_id.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;
using Ids = std::vector<std::uint64_t>;
using ::testing::HasSubstr;

constexpr std::uint64_t kDrawn = 0xd;
constexpr std::uint64_t kOld = 0xa;    // what the shard was known by before it restarted
constexpr std::uint64_t kOther = 0xb;  // of a shard of another cluster
constexpr auto kHolds = wire::Holds::kOfThisShard;
constexpr auto kHoldsOthers = wire::Holds::kOfOthers;
constexpr auto kEmpty = wire::Holds::kNone;

wire::Hello From(int node, Ids claims, wire::Holds holds, std::size_t index = 0,
                 std::size_t count = 1) {
  wire::Hello hello;
  hello.node = {NodeId(node), "n" + std::to_string(node), "127.0.0.1:7"};
  hello.shard_index = index;
  hello.shard_count = count;
  hello.claims = {std::move(claims), holds};
  return hello;
}

class AdmissionTest : public testing::Test {
 protected:
  explicit AdmissionTest(std::vector<std::string> shards = {})
      : admission_({std::move(shards), "", "a:1", kDrawn}) {}

  // True: let in, and the shard took over its claim.
  bool Joins(const wire::Hello& hello) {
    const auto refusal = admission_.Check(hello);
    EXPECT_FALSE(refusal) << refusal->error.message;
    return !refusal && admission_.Joined(hello, now_);
  }
  // What the node was told: it is refused, but may ask again.
  std::string Waits(const wire::Hello& hello) {
    const auto refusal = admission_.Check(hello);
    EXPECT_TRUE(refusal && refusal->retry);
    return refusal ? refusal->error.message : "";
  }

  Admission admission_;
  Time now_{};
};

TEST(ClusterId, DependsOnNameAndNumberOfShardsOnly) {
  EXPECT_EQ(ClusterId("x", 2), ClusterId("x", 2));
  EXPECT_NE(ClusterId("x", 2), ClusterId("x", 3));
  EXPECT_NE(ClusterId("x", 2), ClusterId("", 2));
}

TEST(Admission, RefusalsForGoodSayWhatDiffers) {
  const Admission admission({{"a:1", "b:2"}, "blue", "b:2", kDrawn});
  const auto refusal = [&](const wire::Hello& hello) -> std::string {
    const auto ended = admission.Check(hello);
    if (!ended) return "none";
    EXPECT_EQ(ended->error.code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(ended->retry);
    return ended->error.message;
  };
  wire::Hello right = From(7, {}, kEmpty, 1, 2);
  right.cluster = "blue";
  EXPECT_EQ(refusal(right), "none");
  wire::Hello wrong = right;
  wrong.cluster = "red";
  EXPECT_THAT(refusal(wrong), HasSubstr("'red'"));
  wrong = right;
  wrong.shard_count = 3;
  EXPECT_THAT(refusal(wrong), HasSubstr("names 3 directory shards, this shard knows 2"));
  wrong = right;
  wrong.shard_index = 0;
  EXPECT_THAT(refusal(wrong), HasSubstr("number 0"));
  wrong = right;
  wrong.protocol = 1;
  EXPECT_THAT(refusal(wrong), HasSubstr("speaks version 1 of the directory protocol"));
}

// --- one shard

TEST_F(AdmissionTest, ANewClusterGoesByWhatTheShardDrew) {
  EXPECT_FALSE(Joins(From(1, {0}, kEmpty)));
  EXPECT_FALSE(Joins(From(1, {kDrawn}, kHolds)));
  EXPECT_FALSE(Joins(From(2, {}, kEmpty)));
  EXPECT_EQ(admission_.id(), kDrawn);
}

TEST_F(AdmissionTest, ARestartedShardTakesOverTheClaimOfTheFirstNodeWithObjects) {
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
  EXPECT_EQ(admission_.id(), kOld);
  EXPECT_FALSE(Joins(From(2, {kOld}, kHolds)));
}

// An old fault: the node that came first decided which others may come, even if it was a newcomer.
TEST_F(AdmissionTest, ANewcomerThatComesFirstDecidesNothing) {
  EXPECT_FALSE(Joins(From(3, {0}, kEmpty)));
  admission_.Claimed(NodeId{3}, {{kDrawn}, kHolds}, now_);  // and has put things meanwhile
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
  EXPECT_EQ(admission_.id(), kOld);
  // It may have been cut off before it was told.
  EXPECT_FALSE(Joins(From(3, {kDrawn}, kHolds)));
  EXPECT_EQ(admission_.id(), kOld);
}

TEST_F(AdmissionTest, ANewcomerThatCameBackWithObjectsDecidesNothingEither) {
  EXPECT_FALSE(Joins(From(3, {0}, kEmpty)));
  EXPECT_FALSE(Joins(From(3, {kDrawn}, kHolds)));
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
}

TEST_F(AdmissionTest, AnEmptyNodesClaimYieldsToThatOfOneWithObjects) {
  EXPECT_TRUE(Joins(From(4, {kOther}, kEmpty)));
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
  EXPECT_FALSE(Joins(From(4, {kOther}, kEmpty)));  // an empty node takes over what the shard says
  EXPECT_EQ(admission_.id(), kOld);
}

TEST_F(AdmissionTest, OfTwoClaimsWithObjectsTheSecondWaitsUntilTheFirstIsGone) {
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
  const std::string words = Waits(From(5, {kOther}, kHolds));
  EXPECT_THAT(words, HasSubstr("another cluster"));
  EXPECT_THAT(words, HasSubstr("'n5'"));
  EXPECT_THAT(words, HasSubstr("000000000000000b"));
  EXPECT_THAT(words, HasSubstr("'n1'"));
  EXPECT_THAT(words, HasSubstr("000000000000000a"));
  admission_.Ended(NodeId{1});  // it may come back
  Waits(From(5, {kOther}, kHolds));
  admission_.Gone(NodeId{1});
  EXPECT_TRUE(Joins(From(5, {kOther}, kHolds)));
  EXPECT_THAT(Waits(From(1, {kOld}, kHolds)), HasSubstr("another cluster"));
}

TEST_F(AdmissionTest, AClaimIsHeldByWhoeverHasObjectsUnderIt) {
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
  EXPECT_FALSE(Joins(From(2, {0}, kEmpty)));
  admission_.Claimed(NodeId{2}, {{kOld}, kHolds}, now_);
  admission_.Gone(NodeId{1});
  EXPECT_THAT(Waits(From(5, {kOther}, kHolds)), HasSubstr("'n2'"));
  admission_.Claimed(NodeId{2}, {{kOld}, kEmpty}, now_);
  EXPECT_TRUE(Joins(From(5, {kOther}, kHolds)));
}

// What a newcomer holds of other shards' objects says less of this one's past.
TEST_F(AdmissionTest, WhoHoldsObjectsOfOtherShardsYieldsToWhoHoldsThisOnes) {
  EXPECT_TRUE(Joins(From(3, {kOther}, kHoldsOthers)));
  EXPECT_TRUE(Joins(From(1, {kOld}, kHolds)));
  EXPECT_FALSE(Joins(From(3, {kOther}, kHoldsOthers)));  // it takes over what the shard says
  EXPECT_EQ(admission_.id(), kOld);
}

// The shard restarted twice, and a newcomer heard of the life between.
TEST_F(AdmissionTest, WhoHoldsObjectsOfOtherShardsIsSurerThanAnEmptyNode) {
  EXPECT_TRUE(Joins(From(3, {kOther}, kEmpty)));
  EXPECT_TRUE(Joins(From(2, {kOld}, kHoldsOthers)));
  EXPECT_EQ(admission_.id(), kOld);
  EXPECT_FALSE(Joins(From(4, {kOther}, kHoldsOthers)));
  EXPECT_EQ(admission_.id(), kOld);
}

// --- several shards: this one is number 0 of two

class TwoShards : public AdmissionTest {
 protected:
  TwoShards() : AdmissionTest({"a:1", "b:2"}) {}
  static wire::Hello Two(int node, Ids claims, wire::Holds holds) {
    return From(node, std::move(claims), holds, 0, 2);
  }
  std::vector<NodeId> Contradict() {
    now_ += 1s;
    std::vector<NodeId> nodes;
    for (const auto& [node, why] : admission_.Contradicting(now_)) nodes.push_back(node);
    return nodes;
  }
};

TEST_F(TwoShards, WhoKnowsAnotherSecondShardWaits) {
  EXPECT_FALSE(Joins(Two(1, {0, 0}, kEmpty)));
  admission_.Claimed(NodeId{1}, {{kDrawn, 0x1a}, kHolds}, now_);
  const std::string words = Waits(Two(5, {0, 0x1b}, kEmpty));
  EXPECT_THAT(words, HasSubstr("mixed: node 'n5' knows directory shard 1"));
  EXPECT_THAT(words, HasSubstr("000000000000001b"));
  EXPECT_THAT(words, HasSubstr("'n1'"));
  EXPECT_THAT(words, HasSubstr("000000000000001a"));
  admission_.Ended(NodeId{1});
  EXPECT_FALSE(Joins(Two(5, {0, 0x1b}, kEmpty)));
}

// Both shards were asked at the same time, so neither could know what the other would say.
TEST_F(TwoShards, WhoTurnsOutToMixShardsIsFoundWhenTheNewsHadTimeToSpread) {
  EXPECT_FALSE(Joins(Two(1, {kDrawn, 0x1a}, kHolds)));
  EXPECT_FALSE(Joins(Two(5, {0, 0}, kEmpty)));
  admission_.Claimed(NodeId{5}, {{kDrawn, 0x1b}, kEmpty}, now_);
  EXPECT_TRUE(admission_.Contradicting(now_).empty());
  EXPECT_EQ(admission_.next(), now_ + 1s);
  EXPECT_EQ(Contradict(), std::vector{NodeId{5}});
  EXPECT_EQ(admission_.next(), kNever);
}

TEST_F(TwoShards, OfTwoThatContradictEachOtherTheOneWithObjectsStays) {
  EXPECT_FALSE(Joins(Two(5, {0, 0x1b}, kEmpty)));
  EXPECT_FALSE(Joins(Two(1, {kDrawn, 0x1a}, kHolds)));
  EXPECT_EQ(Contradict(), std::vector{NodeId{5}});
}

// All shards restarted twice. The newcomer of the life between came here first, the old node, which
// has objects of the other shard, there: each shard has taken over what its first node said.
TEST_F(TwoShards, AnOldNodeWithObjectsOfAnotherShardIsLetInBesideAnEmptyNewcomer) {
  EXPECT_TRUE(Joins(Two(3, {kOther, 0x1d}, kEmpty)));
  EXPECT_TRUE(Joins(Two(1, {kOld, 0x1a}, kHoldsOthers)));
  EXPECT_EQ(admission_.id(), kOld);
  EXPECT_EQ(Contradict(), std::vector{NodeId{3}}) << "it asks again with what the others tell it";
}

// A stray node's address of this shard is right, and those of the others are of its own cluster.
TEST_F(TwoShards, WhoHasObjectsOfThisShardDoesNotDriveOutThoseWhoHaveObjectsOfOthers) {
  EXPECT_FALSE(Joins(Two(1, {kDrawn, 0x1a}, kHoldsOthers)));
  EXPECT_TRUE(Joins(Two(5, {kOther, 0x1b}, kHolds)));
  EXPECT_EQ(Contradict(), std::vector{NodeId{5}});
}

// An old holder that does not reach the other shard yet is sent away by members who know that one by
// a newer id, and another old life's holder renames this one meanwhile. It may still rename it again:
// the members then tell the other shard its id, and there it hears what that one goes by.
TEST_F(TwoShards, WhoWasSentAwayRenamesTheShardAgainWhenNobodyElseBacksAnId) {
  const wire::Hello old = Two(1, {kOld, 0x1a}, kHolds);
  const wire::Hello another = Two(2, {kOther, 0x1d}, kHolds);
  EXPECT_FALSE(Joins(Two(3, {kDrawn, 0x1d}, kHoldsOthers)));
  EXPECT_TRUE(Joins(old));
  EXPECT_EQ(Contradict(), std::vector{NodeId{1}});
  admission_.Gone(NodeId{1});
  EXPECT_TRUE(Joins(another));
  EXPECT_THAT(Waits(old), HasSubstr("another cluster")) << "as long as that one is here";
  admission_.Gone(NodeId{2});
  EXPECT_TRUE(Joins(old));
  EXPECT_EQ(admission_.id(), kOld);
}

// Both shards restarted, a newcomer met them first and put things: each of them takes over the
// claim of the old node, and nobody is sent away while the news of it spreads.
TEST_F(TwoShards, AClaimIsTakenOverAlthoughNewcomersKnowTheOthersOtherwise) {
  EXPECT_FALSE(Joins(Two(3, {0, 0}, kEmpty)));
  admission_.Claimed(NodeId{3}, {{kDrawn, 0x1d}, kHolds}, now_);
  EXPECT_TRUE(Joins(Two(1, {kOld, 0x1a}, kHolds)));
  admission_.Claimed(NodeId{3}, {{kOld, 0x1a}, kHolds}, now_);
  EXPECT_TRUE(Contradict().empty());
}

TEST_F(TwoShards, ItsPlaceInANodesListIsComparedToo) {
  const Admission::Settings unknown_place{{"a:1", "b:2"}, "", "0.0.0.0:1", kDrawn};
  Admission admission(unknown_place);
  admission.Joined(From(1, {kDrawn, 0x1a}, kHolds, 0, 2), now_);
  const auto refusal = admission.Check(From(5, {0x1a, 0}, kEmpty, 1, 2));
  ASSERT_TRUE(refusal);
  EXPECT_THAT(refusal->error.message, HasSubstr("mixed"));
}

}  // namespace
}  // namespace hoplite::directory
