#include <gtest/gtest.h>

#include "base/units.h"
#include "cli/top/model.h"

namespace hoplite::cli::top {
namespace {

using namespace std::chrono_literals;

const Time kStart{1h};
const ObjectId kObject = ObjectId::FromName("x");

protocol::NodeView NodeAt(std::uint64_t id, std::uint64_t told_at_us, std::uint64_t in,
                          std::uint64_t out) {
  return {.node = {NodeId{id}, "n" + std::to_string(id), "h:1"},
          .alive = true,
          .usage = {.memory_bytes = 64_MiB,
                    .used_bytes = 16_MiB,
                    .received_bytes = in,
                    .sent_bytes = out,
                    .told_at_us = told_at_us}};
}

class TopModel : public testing::Test {
 protected:
  void Look(Duration after, std::vector<protocol::NodeView> nodes,
            std::vector<protocol::ObjectView> objects = {}) {
    ShardLook shard{.address = "h:0", .at = kStart + after};
    shard.nodes = std::move(nodes);
    shard.objects = std::move(objects);
    shard.object_count = 7;
    model_.Look(kStart + after, {shard});
  }
  const NodeRow& Row(std::size_t place) const { return model_.picture().nodes.at(place); }

  Model model_;
};

TEST_F(TopModel, RatesGoByTheClockOfTheNode) {
  Look(0s, {NodeAt(1, 1'000'000, 100, 0)});
  EXPECT_EQ(Row(0).in_rate, std::nullopt);
  EXPECT_TRUE(model_.lacks_rates());
  Look(300ms, {NodeAt(1, 1'000'000, 100, 0)});  // it has not told anything new
  EXPECT_EQ(Row(0).in_rate, std::nullopt);
  Look(600ms, {NodeAt(1, 3'000'000, 2100, 500)});
  EXPECT_EQ(Row(0).in_rate, 1000u);
  EXPECT_EQ(Row(0).out_rate, 250u);
  EXPECT_FALSE(model_.lacks_rates());
  Look(900ms, {NodeAt(1, 3'000'000, 2100, 500)});
  EXPECT_EQ(Row(0).in_rate, 1000u);
  EXPECT_EQ(Row(0).used_bytes, 16_MiB);
}

TEST_F(TopModel, ProcessorTimeIsARate) {
  protocol::NodeView node = NodeAt(1, 1'000'000, 0, 0);
  node.usage.process.processor_time = 1s;
  Look(0s, {node});
  EXPECT_EQ(Row(0).processors, std::nullopt);
  node.usage.told_at_us = 3'000'000;
  node.usage.process.processor_time = 4s;
  Look(2s, {node});
  EXPECT_DOUBLE_EQ(*Row(0).processors, 1.5);
}

TEST_F(TopModel, DifferentVersionsAreARemark) {
  std::vector<protocol::NodeView> nodes = {NodeAt(1, 1, 0, 0), NodeAt(2, 1, 0, 0)};
  nodes[0].usage.process.version = "0.1.0";
  Look(0s, nodes);
  EXPECT_TRUE(model_.picture().remarks.empty()) << "who did not tell is not another version";
  nodes[1].usage.process.version = "0.2.0";
  Look(1s, nodes);
  nodes[1].usage.told_at_us = 2;
  Look(2s, nodes);
  ASSERT_EQ(model_.picture().remarks.size(), 1u);
  EXPECT_EQ(model_.picture().remarks[0], "members are of different versions; 0.1.0: n1; 0.2.0: n2");
}

// A node tells all shards what it waits for; the object's own knows the rest.
TEST_F(TopModel, AnObjectThatSeveralShardsTellOfIsOne) {
  const protocol::ObjectView told{.object = kObject, .waiters = {{NodeId{1}, "n1", "no memory"}}};
  protocol::ObjectView own = told;
  own.version = {1, 1};
  ShardLook other{.address = "h:0", .at = kStart, .objects = {told}};
  ShardLook home{.address = "h:1", .at = kStart, .objects = {own}};
  model_.Look(kStart, {other, home});
  ASSERT_EQ(model_.picture().objects.size(), 1u);
  EXPECT_EQ(model_.picture().objects[0].object.version, "1.1");
  EXPECT_EQ(model_.picture().object_count, 1u) << "not fewer than are shown";
}

TEST_F(TopModel, ANodeThatTellsNothingIsSilent) {
  Look(0s, {NodeAt(1, 1, 0, 0)});
  Look(kSilent, {NodeAt(1, 1, 0, 0)});
  EXPECT_EQ(Row(0).trouble, "");
  Look(kSilent + 1s, {NodeAt(1, 1, 0, 0)});
  EXPECT_EQ(Row(0).trouble, "silent for 4 s");
  EXPECT_EQ(Row(0).in_rate, std::nullopt);
  Look(kSilent + 2s, {NodeAt(1, 2, 0, 0)});
  EXPECT_EQ(Row(0).trouble, "");
}

TEST_F(TopModel, ANodeThatIsAwayOrLostSaysSo) {
  protocol::NodeView away = NodeAt(2, 1, 0, 0);
  Look(0s, {NodeAt(1, 1, 0, 0), away});
  away.alive = false;
  Look(1s, {NodeAt(1, 2, 0, 0), away});
  EXPECT_EQ(Row(1).trouble, "no session");
  Look(2s, {NodeAt(1, 3, 0, 0)});
  EXPECT_EQ(Row(1).name, "n2");
  EXPECT_EQ(Row(1).trouble, "lost 0 s ago");
  Look(12s, {NodeAt(1, 4, 0, 0)});
  EXPECT_EQ(Row(1).trouble, "lost 10 s ago");
  protocol::NodeView again = NodeAt(3, 1, 0, 0);  // another process of the same name
  again.node.name = "n2";
  Look(13s, {NodeAt(1, 5, 0, 0), again});
  EXPECT_EQ(Row(1).trouble, "");
  EXPECT_EQ(model_.picture().nodes.size(), 2u);
}

TEST_F(TopModel, ALostNodeIsForgottenAtLast) {
  model_.Remember("n9", kStart - 5s);
  Look(0s, {NodeAt(1, 1, 0, 0)});
  EXPECT_EQ(Row(1).trouble, "lost 5 s ago");
  Look(kRemembered, {NodeAt(1, 2, 0, 0)});
  EXPECT_EQ(model_.picture().nodes.size(), 1u);
}

TEST_F(TopModel, AShardThatDoesNotAnswerIsNamed) {
  ShardLook there{.address = "h:0", .at = kStart, .nodes = {NodeAt(1, 1, 0, 0)}};
  ShardLook away{.address = "h:1", .away = "directory shard h:1 is away"};
  away.nodes = {NodeAt(2, 1, 0, 0)};
  model_.Look(kStart, {there, away});
  EXPECT_EQ(model_.picture().remarks, std::vector<std::string>{"directory shard h:1 is away"});
  ASSERT_EQ(model_.picture().nodes.size(), 1u);
  there.away = "directory shard h:0 is away";
  model_.Look(kStart + 1s, {there, away});
  ASSERT_EQ(model_.picture().nodes.size(), 1u) << "nobody says that it was lost";
  EXPECT_EQ(Row(0).trouble, "not known");
}

TEST_F(TopModel, CountsWhatComesAndWhatIsWaitedFor) {
  const auto object = [](std::uint64_t bytes) {
    return protocol::ObjectView{
        .object = kObject,
        .version = {{1, 1}},
        .size_bytes = 1000,
        .transfers = {{.from_name = "n1", .to_name = "n2", .valid_bytes = bytes}},
        .waiters = {{.node_name = "n2", .why = "the bytes are on their way"},
                    {.node_name = "n3", .why = "every holder is busy"}}};
  };
  const std::vector nodes{NodeAt(1, 1, 0, 0), NodeAt(2, 1, 0, 0), NodeAt(3, 1, 0, 0)};
  Look(0s, nodes, {object(100)});
  Look(1s, nodes, {object(400)});
  EXPECT_EQ(Row(1).fetches, 1u);
  EXPECT_EQ(Row(1).waits, 0u);
  EXPECT_EQ(Row(2).fetches, 0u);
  EXPECT_EQ(Row(2).waits, 1u);
  ASSERT_EQ(model_.picture().objects.size(), 1u);
  EXPECT_EQ(model_.picture().objects[0].rates, std::vector<std::optional<std::uint64_t>>{300});
  EXPECT_EQ(model_.picture().object_count, 7u);
}

}  // namespace
}  // namespace hoplite::cli::top
