#include "sim/planner_world/virtual_node.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/bounds.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

using protocol::Failure;

const Version kVersion{{1, 1}};
const GrantId kGrant{{1, 2}};

class VirtualNodeTest : public testing::Test {
 protected:
  // A node that pulls the object and has `blocks` of its one stripe.
  VirtualNode Receiver(std::uint32_t blocks) const {
    VirtualNode node(NodeId{2}, object_);
    Effects effects;
    node.Get(effects);
    node.Hear(protocol::Located{object_, kVersion, layout_, {}}, Time{}, effects);
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

TEST_F(VirtualNodeTest, AWordOfEqualityEndsWithTheLifeOfTheDirectoryThatGaveIt) {
  VirtualNode node = Receiver(2);
  Effects effects;
  node.Disconnected();
  EXPECT_EQ(node.Answer(FetchFrom(2, true)), Failure::kNotAhead);
  EXPECT_EQ(node.Answer(FetchFrom(1, false)), Failure::kNone);
  node.Connected(kGrant.incarnation, Time{}, effects);
  EXPECT_EQ(node.Answer(FetchFrom(2, true)), Failure::kNone);
  node.Connected(kGrant.incarnation + 1, Time{}, effects);
  EXPECT_EQ(node.Answer(FetchFrom(2, true)), Failure::kNotAhead);
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
  node.Hear(protocol::Recall{object_, Version{{1, 5}}}, Time{}, effects);
  EXPECT_FALSE(node.copy());
  ASSERT_EQ(effects.say.size(), 1u) << "the shard knows that the copy goes";
  EXPECT_TRUE(std::holds_alternative<protocol::Locate>(effects.say[0]));
}

TEST_F(VirtualNodeTest, ANodeThatHearsThatItWasLostEndsItsStreamsAndWantsAnew) {
  VirtualNode node = Receiver(2);
  Effects effects;
  node.Hear(protocol::Grant{.object = object_,
                            .version = kVersion,
                            .grant = kGrant,
                            .source = {NodeId{3}, "n3", ""},
                            .stripes = 1},
            Time{}, effects);
  node.Disconnected();
  EXPECT_EQ(node.streams().size(), 1u) << "bytes go on";
  effects = {};
  node.WasLost(effects);
  EXPECT_EQ(effects.end, std::vector{kGrant});
  EXPECT_TRUE(effects.say.empty()) << "the shard knows nothing of that grant";
  node.Connected(0, Time{}, effects);
  ASSERT_EQ(effects.say.size(), 3u);
  EXPECT_TRUE(std::get<protocol::Held>(effects.say[0]).upstreams.empty());
  EXPECT_EQ(std::get<protocol::Want>(effects.say[1]).marks, (StripeMarks{2}));
}

// As long as it does not hear of it: its session is away, its streams are not.
TEST(LostNode, PullsOnUntilItHearsThatItWasLost) {
  const Options options{.nodes = 2, .size_bytes = 256_MiB, .grace = std::chrono::milliseconds(20)};
  const double transfer = BoundSeconds(options.size_bytes, {options.latency, 1.25e9});
  for (const double away : {2 * transfer, transfer / 2}) {
    World world(options);
    world.AddNode();
    world.AddNode();
    world.At(Time{}, [&] { world.Put(0, 1); });
    const Time start = Time{} + std::chrono::milliseconds(10);
    world.At(start, [&] { world.Get(1); });
    world.At(start + FromSeconds(transfer / 4), [&] { world.BreakSession(1, FromSeconds(away)); });
    world.Run();
    EXPECT_EQ(world.violation(), "");
    ASSERT_TRUE(world.members()[1].returned);
    EXPECT_LT(ToSeconds(*world.members()[1].returned - start), 1.05 * transfer);
    EXPECT_LT(world.network().bytes_dropped(), 1_MiB) << "the rest is pulled once";
  }
}

}  // namespace
}  // namespace hoplite::sim
