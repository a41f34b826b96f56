// Reductions whose members are cut off, forgotten or run out of something at a bad moment.
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using testing::IdOf;
using testing::kSoon;
using testing::PutSource;
using testing::Sum;
using testing::WrongSum;
using namespace std::chrono_literals;

// Slow enough that a reduction of a few MB is caught in the middle.
ClusterOptions Slow(std::size_t nodes) {
  ClusterOptions options{.nodes = nodes, .memory_bytes = 32_MiB};
  options.rate_bytes_per_second = 8_MiB;
  return options;
}

// The root has folded something.
bool UnderWay(Cluster& cluster, const ObjectId& target) {
  return Eventually([&] {
    const auto view = cluster.Find(target);
    return view && std::ranges::any_of(view->slots, [](const protocol::SlotView& slot) {
             return slot.parents.empty() && slot.valid_bytes > 0;
           });
  });
}

// A shard that forgot everything starts the slots again; readers of the old attempt are
// recalled.
TEST(ReduceAttack, AShardThatRestartsInTheMiddleStartsAgain) {
  constexpr std::size_t kElements = 500'000;
  for (const auto window : {0ms, 300ms}) {
    auto options = Slow(4);
    options.directory.service.planner.recovery_window = window;
    Cluster cluster(options);
    for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
    auto client = cluster.client(3);
    auto sum = client.Reduce(Sum(3));
    ASSERT_TRUE(sum);
    auto early = cluster.client(0).GetAsync(sum->target(), kSoon);
    ASSERT_TRUE(UnderWay(cluster, sum->target()));
    cluster.directory().Restart(0);
    const auto outcome = sum->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_EQ(WrongSum(early.Wait(), outcome->used, kElements), "");
    EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
  }
}

// The coordinator gives up while no shard hears it.
TEST(ReduceAttack, AReductionCancelledWithoutASessionLeavesNothing) {
  Cluster cluster({.nodes = 2, .memory_bytes = 32_MiB});
  PutSource(cluster.client(0), 0, 40'000);
  auto client = cluster.client(1);
  auto sum = client.Reduce(Sum(2));
  ASSERT_TRUE(sum);
  auto waiting = cluster.client(0).GetAsync(sum->target(), kSoon);
  // Not only the Get: a request that the shard never heard ends for nobody.
  ASSERT_TRUE(Eventually([&] {
    const auto view = cluster.Find(sum->target());
    return view && !view->slots.empty();
  }));
  const NodeId self = cluster.id(1);
  cluster.directory().Cut(self);
  ASSERT_TRUE(Eventually([&] { return !cluster.has_session(self); }));
  sum->Cancel();
  EXPECT_FALSE(sum->Wait());
  cluster.directory().Reconnect(self);
  ASSERT_TRUE(Eventually([&] { return cluster.has_session(self); }));
  EXPECT_TRUE(Eventually([&] { return !cluster.Find(sum->target()); }));
  EXPECT_FALSE(waiting.Wait());
}

// An inner slot without memory says so before its parent's patience ends. Its sources are then
// folded elsewhere.
TEST(ReduceAttack, AnInnerSlotWithoutMemoryIsReplacedByAnotherNode) {
  constexpr std::size_t kElements = 500'000;
  Cluster cluster({.nodes = 3, .memory_bytes = 32_MiB});
  const std::size_t full = cluster.Add({.memory_bytes = 12_MiB});
  PutSource(cluster.client(full), 0, kElements);
  PutSource(cluster.client(full), 1, kElements);
  const auto filler = cluster.client(full).Put(testing::Pattern(3_MiB, 1));
  ASSERT_TRUE(filler);
  auto client = cluster.client(2);
  auto options = Sum(3);
  options.degree = 1;
  options.timeout = 25s;
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  std::this_thread::sleep_for(50ms);  // so that the full node's sources are at the bottom
  PutSource(cluster.client(1), 2, kElements);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
}

// All bytes of a Put that is aborted were folded: it never was an object.
TEST(ReduceAttack, AnAbortedPutIsNoSource) {
  constexpr std::size_t kElements = 40'000;
  for (const std::size_t more : {0, 1}) {  // alone, or with another at the same slot
    Cluster cluster({.nodes = 2, .memory_bytes = 32_MiB});
    if (more == 1) PutSource(cluster.client(0), 2, kElements);
    auto client = cluster.client(1);
    auto options = Sum(2 + more);
    options.num_objects = 1 + more;
    auto sum = client.Reduce(options);
    ASSERT_TRUE(sum);
    {
      const auto values = testing::Source(0, kElements);
      auto putter = cluster.client(0);
      auto draft = putter.Create(IdOf(0), kElements * 8);
      ASSERT_TRUE(draft) << draft.error().ToString();
      std::ranges::copy(testing::Bytes(values), draft->data().begin());
      ASSERT_TRUE(draft->Advance(kElements * 8));
      ASSERT_TRUE(Eventually([&] {
        const auto view = cluster.Find(sum->target());
        return view && !view->slots.empty() && view->slots[0].valid_bytes == kElements * 8;
      }));
      EXPECT_FALSE(sum->ready());
    }
    PutSource(cluster.client(1), 1, kElements);
    const auto outcome = sum->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    EXPECT_EQ(outcome->unused, (std::vector{IdOf(0)}));
    EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
  }
}

// The shard told this node of the Delete before the reduction asked.
TEST(ReduceAttack, ASourceThatIsKnownToBeDeletedEndsAReductionOfAll) {
  Cluster cluster({.nodes = 2, .memory_bytes = 32_MiB});
  PutSource(cluster.client(0), 0, 40'000);
  auto client = cluster.client(1);
  auto some = Sum(3);
  some.num_objects = 2;
  auto watching = client.Reduce(some);  // goes on
  ASSERT_TRUE(watching);
  ASSERT_TRUE(client.Delete(IdOf(1)));
  auto options = Sum(2);
  options.timeout = 5s;
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kDeleted) << outcome.error().ToString();
}

// A Get that was there before the root must not take the memory that the root needs.
TEST(ReduceAttack, AnEarlyGetLeavesTheMemoryToTheRoot) {
  constexpr std::size_t kElements = 500'000;
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 12_MiB});
  const auto filler = cluster.client(0).Put(testing::Pattern(6_MiB, 1));
  auto client = cluster.client(small);
  std::optional<Buffer> view = *client.Get(*filler, kSoon);
  PutSource(client, 0, kElements);
  auto options = Sum(1);
  options.target = ObjectId::FromName("early");
  auto early = client.GetAsync(options.target, kSoon);
  ASSERT_TRUE(Eventually([&] { return cluster.Find(options.target).has_value(); }));
  auto sum = cluster.client(0).Reduce(options);
  ASSERT_TRUE(sum);
  ASSERT_TRUE(Eventually([&] {
    const auto found = cluster.Find(options.target);
    return found && !found->slots.empty();
  }));
  std::this_thread::sleep_for(100ms);  // so that both wait for memory
  EXPECT_FALSE(sum->ready());
  view.reset();
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(early.Wait(), outcome->used, kElements), "");
}

// An inner reduction that starts again is a source in a new version; the outer one follows.
TEST(ReduceAttack, ASourceThatIsAReductionStartsAgain) {
  constexpr std::size_t kElements = 500'000;
  auto options = Slow(6);
  options.directory.service.grace = 200ms;
  Cluster cluster(options);
  for (const std::size_t i : {0, 1, 2, 4}) PutSource(cluster.client(i), i, kElements);
  auto client = cluster.client(5);
  auto inner = Sum(4);
  inner.num_objects = 3;
  inner.target = ObjectId::FromName("inner");
  auto outer = Sum(0);
  outer.sources = {inner.target, IdOf(4)};
  auto second = client.Reduce(outer);
  auto first = client.Reduce(inner);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_TRUE(UnderWay(cluster, second->target()));
  const auto view = cluster.Find(inner.target);
  ASSERT_TRUE(view);
  std::size_t child = 6;  // a node of the inner one that is not its root's
  for (const protocol::SlotView& slot : view->slots) {
    if (!slot.parents.empty()) child = static_cast<std::size_t>(slot.node_name.back() - '0');
  }
  ASSERT_LT(child, 3U);
  cluster.Stop(child);
  PutSource(cluster.client(3), 3, kElements);
  const auto made = first->Wait();
  ASSERT_TRUE(made) << made.error().ToString();
  const auto outcome = second->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  auto used = made->used;
  used.push_back(IdOf(4));
  EXPECT_EQ(WrongSum(client.Get(second->target(), kSoon), used, kElements), "");
}

}  // namespace
}  // namespace hoplite
