#include "sim/planner_world/virtual_node.h"

#include <gtest/gtest.h>

namespace hoplite::sim {
namespace {

using planner::Failure;

const Version kVersion{{1, 1}};
const GrantId kGrant{{1, 2}};

class VirtualNodeTest : public testing::Test {
 protected:
  // A node that pulls the object and has `blocks` of its one stripe.
  VirtualNode Receiver(std::uint32_t blocks) const {
    VirtualNode node(NodeId{2}, object_);
    Effects effects;
    node.Get(effects);
    node.Hear(planner::Located{object_, kVersion, layout_, {}}, Time{}, effects);
    node.MemoryReserved(effects);
    EXPECT_EQ(node.Received(0, blocks, 7), "");
    return node;
  }
  Fetch FetchFrom(std::uint32_t block, bool equality_ok) const {
    return {.version = kVersion,
            .grant = kGrant,
            .stripes = 1,
            .marks = {block},
            .equality_ok = equality_ok};
  }

  ObjectId object_ = ObjectId::FromName("x");
  Layout layout_ = Layout::For(64 * 1024, 1);
};

TEST_F(VirtualNodeTest, ARelayServesOnlyWhoIsStrictlyBehindIt) {
  const VirtualNode node = Receiver(2);
  EXPECT_EQ(node.Answer(FetchFrom(1, false)), Failure::kNone);
  EXPECT_EQ(node.Answer(FetchFrom(2, false)), Failure::kNotAhead);
  EXPECT_EQ(node.Answer(FetchFrom(2, true)), Failure::kNone);
  EXPECT_EQ(node.Answer(FetchFrom(3, true)), Failure::kNotAhead);
}

TEST_F(VirtualNodeTest, NobodyServesAnotherVersion) {
  const VirtualNode node = Receiver(2);
  Fetch fetch = FetchFrom(0, true);
  fetch.version = Version{{1, 9}};
  EXPECT_EQ(node.Answer(fetch), Failure::kUnknown);
}

TEST_F(VirtualNodeTest, BytesOfAnotherContentAreNoticed) {
  VirtualNode node = Receiver(2);
  EXPECT_EQ(node.Received(0, 3, 7), "");
  EXPECT_NE(node.Received(0, 4, 8), "");
  EXPECT_NE(node.Received(0, 1, 7), "");
}

TEST_F(VirtualNodeTest, ARecallDropsTheCopyAndAsksAgain) {
  VirtualNode node = Receiver(2);
  Effects effects;
  node.Hear(planner::Recall{object_, Version{{1, 5}}}, Time{}, effects);
  EXPECT_FALSE(node.copy());
  ASSERT_EQ(effects.say.size(), 1u) << "the shard knows that the copy goes";
  EXPECT_TRUE(std::holds_alternative<planner::Locate>(effects.say[0]));
}

}  // namespace
}  // namespace hoplite::sim
