// Bytes that are damaged on their way: found by their checksum, fetched again, counted and logged;
// never returned, never folded.
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/sums.h"
#include "testing/bad_wire.h"

namespace hoplite {
namespace {

using testing::BadWire;
using testing::Cluster;
using testing::ClusterOptions;
using testing::Damage;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::IdOf;
using testing::kSoon;
using testing::Pattern;
using testing::PutSource;
using testing::Sum;
using testing::Text;
using testing::WrongSum;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;
using namespace std::chrono_literals;

// An offset in the bytes that a connection brings.
constexpr std::uint64_t kInTheMiddle = 1'000'000;
constexpr std::uint64_t kInTheFirstBlock = 8'000;
const std::vector<std::uint64_t> kNowhere;

ClusterOptions Behind(std::shared_ptr<Damage> damage, ClusterOptions options = {}) {
  options.memory_bytes = 32_MiB;
  options.between = [damage = std::move(damage)](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<BadWire>(std::move(inner), damage);
  };
  return options;
}

TEST(Integrity, ADamagedBlockIsFetchedAgainElsewhere) {
  Cluster cluster({.nodes = 2, .memory_bytes = 32_MiB});
  const auto damage = std::make_shared<Damage>(
      [](const std::string&, int nth) { return nth == 0 ? std::vector{kInTheMiddle} : kNowhere; });
  const std::string bytes = Pattern(3_MiB, 1);
  const auto id = cluster.client(0).Put(bytes);
  ASSERT_TRUE(cluster.client(1).Get(*id, kSoon));
  const std::size_t reader = cluster.Add(Behind(damage));
  CaptureStderr();
  const auto got = cluster.client(reader).Get(*id, kSoon);
  const std::string log = GetCapturedStderr();
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(Text(*got) == bytes);
  EXPECT_EQ(damage->flipped(), 1);
  const auto& counters = cluster.node(reader).counters();
  EXPECT_EQ(counters.corrupt_blocks, 1u);
  EXPECT_EQ(counters.fetches_resumed, 1u);
  const auto dialled = damage->dialled();
  ASSERT_EQ(dialled.size(), 2u);
  EXPECT_NE(dialled[0], dialled[1]);
  const std::size_t blamed = dialled[0] == cluster.node(0).address() ? 0 : 1;
  EXPECT_THAT(log, HasSubstr("from " + cluster.node(blamed).name()));
}

TEST(Integrity, ADamagedBlockIsFetchedAgainFromTheOnlySource) {
  const auto damage = std::make_shared<Damage>(
      [](const std::string&, int nth) { return nth == 0 ? std::vector{kInTheMiddle} : kNowhere; });
  Cluster cluster(Behind(damage));
  const std::string bytes = Pattern(3_MiB, 2);
  const auto id = cluster.client(0).Put(bytes);
  auto client = cluster.client(1);
  const auto got = client.Get(*id, kSoon);
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(Text(*got) == bytes);
  EXPECT_EQ(cluster.node(1).counters().corrupt_blocks, 1u);
  EXPECT_EQ(cluster.node(1).counters().fetches_resumed, 1u);
  // The status of the cluster shows it.
  EXPECT_TRUE(Eventually([&] {
    const auto status = client.Status(kSoon);
    return status && std::ranges::any_of(status->nodes, [](const NodeStatus& node) {
             return node.name == "n1" && node.corrupt_blocks == 1;
           });
  }));
}

// A bit is flipped anywhere: in a payload, a checksum, a header, or the handshake.
TEST(Integrity, DamageAnywhereBringsNoWrongByte) {
  const auto damage = std::make_shared<Damage>([](const std::string&, int nth) {
    if (nth >= 8) return kNowhere;
    return std::vector<std::uint64_t>{
        static_cast<std::uint64_t>(nth < 4 ? 9 + 8 * nth : 400'000 * nth),
        static_cast<std::uint64_t>(nth * 1'000'003)};
  });
  ClusterOptions options{.nodes = 3};
  options.directory.service.planner.keep_apart = 20ms;
  Cluster cluster(Behind(damage, options));
  const std::string bytes = Pattern(6_MiB, 3);
  const auto id = cluster.client(0).Put(bytes);
  auto first = cluster.client(1).GetAsync(*id, kSoon);
  const auto second = cluster.client(2).Get(*id, kSoon);
  ASSERT_TRUE(second) << second.error().ToString();
  EXPECT_TRUE(Text(*second) == bytes);
  const auto other = first.Wait();
  ASSERT_TRUE(other) << other.error().ToString();
  EXPECT_TRUE(Text(*other) == bytes);
  EXPECT_GE(damage->flipped(), 4);
}

constexpr std::size_t kElements = 300'000;

// The version of the target's root, once there is one.
Version RootOf(Cluster& cluster, const ObjectId& target) {
  Version version;
  EXPECT_TRUE(Eventually([&] {
    const auto view = cluster.Find(target);
    if (view) version = view->version;
    return static_cast<bool>(version);
  }));
  return version;
}

// A damaged block of a child's output is no loss of the child: nothing is folded again.
TEST(Integrity, ADamagedBlockOfAReductionIsFetchedAgain) {
  // The first connection may have been too early for a child that does not know of its slot yet.
  std::shared_ptr<Damage> damage;
  damage = std::make_shared<Damage>([&damage](const std::string&, int) {
    return damage->flipped() == 0 ? std::vector{kInTheMiddle} : kNowhere;
  });
  ClusterOptions options{.nodes = 3};
  options.rate_bytes_per_second = 8_MiB;  // the tree is seen before it is done
  Cluster cluster(Behind(damage, options));
  for (std::size_t i = 0; i < 3; ++i) PutSource(cluster.client(i), i, kElements);
  auto client = cluster.client(2);
  auto sum = client.Reduce(Sum(3));
  ASSERT_TRUE(sum);
  const Version version = RootOf(cluster, sum->target());
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(cluster.Find(sum->target())->version, version) << "a slot was reset";
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
  std::uint64_t corrupt = 0;
  for (std::size_t i = 0; i < 3; ++i) corrupt += cluster.node(i).counters().corrupt_blocks;
  EXPECT_GE(corrupt, 1u);
}

// A source whose bytes never arrive whole is as good as lost.
TEST(Integrity, ASourceThatNeverArrivesWholeIsReplacedByASpare) {
  std::string bad_address;
  const auto damage = std::make_shared<Damage>([&bad_address](const std::string& address, int) {
    return address == bad_address ? std::vector{kInTheFirstBlock} : kNowhere;
  });
  Cluster cluster(Behind(damage, {.nodes = 4}));
  bad_address = cluster.node(0).address();
  for (std::size_t i = 0; i < 2; ++i) PutSource(cluster.client(i), i, kElements);
  auto options = Sum(3);
  options.num_objects = 2;
  options.root_here = true;
  auto client = cluster.client(1);
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  ASSERT_TRUE(Eventually([&] { return cluster.node(1).counters().corrupt_blocks >= 2; }));
  PutSource(cluster.client(2), 2, kElements);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_THAT(outcome->used, ::testing::UnorderedElementsAre(IdOf(1), IdOf(2)));
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
}

// A link that damages now and then is slow, not lost: as long as something new comes, what is
// missing is asked for again.
TEST(Integrity, ASourceThatArrivesInPiecesIsUsed) {
  const auto damage = std::make_shared<Damage>(
      [](const std::string&, int) { return std::vector{kInTheMiddle / 4}; });
  Cluster cluster(Behind(damage));
  for (std::size_t i = 0; i < 2; ++i) PutSource(cluster.client(i), i, kElements);
  auto options = Sum(2);
  options.root_here = true;
  auto client = cluster.client(1);
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(client.Get(sum->target(), kSoon), outcome->used, kElements), "");
}

}  // namespace
}  // namespace hoplite
