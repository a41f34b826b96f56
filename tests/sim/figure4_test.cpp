// A broadcast whose receivers come one by one, step by step: who pulls from whom.
#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/planner_world/bounds.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

constexpr NodeIndex kSender = 0;
constexpr NodeIndex kFirst = 1;
constexpr NodeIndex kSecond = 2;
constexpr NodeIndex kThird = 3;
constexpr NodeIndex kNobody = ~NodeIndex{0};

class Figure4Test : public testing::Test {
 protected:
  Figure4Test() {
    for (int i = 0; i < 4; ++i) world_.AddNode();
    world_.At(Time{}, [this] { world_.Put(kSender, 1); });
  }
  // A moment, in whole transfers after the start.
  Time After(double transfers) const { return Time{} + FromSeconds(0.01 + transfers * transfer_); }
  void GetAt(double transfers, NodeIndex node) {
    world_.At(After(transfers), [this, node] { world_.Get(node); });
  }
  void ExpectSource(double transfers, NodeIndex node, NodeIndex source) {
    world_.At(After(transfers), [this, transfers, node, source] {
      const FlowId flow = world_.network().Feeding(node, 0);
      const NodeIndex found = flow == kNoFlow ? kNobody : world_.network().SourceOf(flow);
      EXPECT_EQ(found, source) << "of n" << node << " after " << transfers << " transfers";
    });
  }

  Options options_{.nodes = 4, .size_bytes = 256_MiB};
  double transfer_ = BoundSeconds(options_.size_bytes, {options_.latency, 1.25e9});
  World world_{options_};
};

TEST_F(Figure4Test, CompleteCopiesArePreferredToPartialOnes) {
  GetAt(0, kFirst);
  ExpectSource(0.2, kFirst, kSender);
  GetAt(0.3, kSecond);
  ExpectSource(0.5, kSecond, kFirst);
  // The first is through and the sender is free again; the second still pulls.
  ExpectSource(1.1, kFirst, kNobody);
  GetAt(1.1, kThird);
  ExpectSource(1.2, kSecond, kFirst);
  ExpectSource(1.2, kThird, kSender);
  world_.Run();
  EXPECT_EQ(world_.violation(), "");
  EXPECT_TRUE(world_.members()[kThird].returned);
}

TEST_F(Figure4Test, AReceiverWhoseSourceDiesResumesWhereItWas) {
  GetAt(0, kFirst);
  GetAt(0.3, kSecond);
  world_.At(After(0.6), [this] { world_.Kill(kFirst); });
  GetAt(0.6, kThird);
  ExpectSource(0.7, kSecond, kSender);
  ExpectSource(0.7, kThird, kSecond);
  world_.Run();
  EXPECT_EQ(world_.violation(), "");
  const Member& second = world_.members()[kSecond];
  ASSERT_TRUE(second.returned);
  EXPECT_LT(ToSeconds(*second.returned - *second.asked), 1.05 * transfer_);
  EXPECT_LT(world_.network().bytes_dropped(), 1_MiB);
}

}  // namespace
}  // namespace hoplite::sim
