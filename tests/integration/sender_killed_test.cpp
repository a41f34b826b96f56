// A source dies at many moments of a broadcast while a second complete copy exists: the survivors
// get the right bytes, soon, and hardly anything twice.
#include <future>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using testing::Text;
using namespace std::chrono_literals;

constexpr std::uint64_t kSize = 3_MiB;

// Nodes 0 and 1 have complete copies; the others receive, each over a slow link.
class Broadcast {
 public:
  static constexpr std::size_t kNodes = 6;

  Broadcast() : cluster_({.nodes = kNodes, .memory_bytes = 8_MiB, .rate_bytes_per_second = kRate}) {
    id_ = *cluster_.client(0).Put(bytes_);
    EXPECT_TRUE(cluster_.client(1).Get(id_, kSoon));
    for (std::size_t i = 0; i < 2; ++i) sent_before_[i] = cluster_.node(i).counters().bytes_sent;
    for (std::size_t i = 2; i < kNodes; ++i) {
      waiting_.push_back(cluster_.client(i).GetAsync(id_, kSoon));
    }
  }

  std::uint64_t Received(std::size_t i) { return cluster_.node(i).counters().bytes_received; }
  void WaitForBytes(std::size_t node, std::uint64_t bytes) {
    ASSERT_TRUE(Eventually([&] { return Received(node) >= bytes; }, 30s));
  }
  // What node 0 or 1 has sent of the object, also when it is stopped.
  std::uint64_t Sent(std::size_t source) {
    return cluster_.node(source).counters().bytes_sent - sent_before_[source];
  }
  // The complete holder that feeds somebody.
  std::size_t Source() { return Sent(0) >= Sent(1) ? 0 : 1; }
  void Kill(std::size_t node) {
    dead_.insert(node);
    cluster_.Stop(node);
  }
  std::uint64_t Resumed(std::size_t i) { return cluster_.node(i).counters().fetches_resumed; }
  std::uint64_t Resumed() {
    std::uint64_t resumed = 0;
    for (std::size_t i = 2; i < kNodes; ++i) resumed += Resumed(i);
    return resumed;
  }
  // Every survivor has the bytes; all together received less than one object twice.
  void ExpectHealed() {
    std::uint64_t received = 0;
    std::size_t survivors = 0;
    for (std::size_t i = 2; i < kNodes; ++i) {
      if (dead_.contains(i)) continue;
      const auto view = waiting_[i - 2].Wait();
      ASSERT_TRUE(view) << "node " << i << ": " << view.error().ToString();
      EXPECT_TRUE(Text(*view) == bytes_) << "node " << i;
      received += Received(i);
      ++survivors;
    }
    EXPECT_LT(received - survivors * kSize, kSize) << "bytes that were sent again";
  }

 private:
  static constexpr std::uint64_t kRate = 6'000'000;

  const std::string bytes_ = Pattern(kSize, 1);
  Cluster cluster_;
  ObjectId id_;
  std::uint64_t sent_before_[2] = {};
  std::vector<Future<Buffer>> waiting_;
  std::set<std::size_t> dead_;
};

class SourceKilledAt : public ::testing::TestWithParam<int> {};

TEST_P(SourceKilledAt, TheSurvivorsResume) {
  Broadcast broadcast;
  broadcast.WaitForBytes(2, kSize * static_cast<std::uint64_t>(GetParam()) / 100);
  const std::uint64_t before = broadcast.Resumed();
  const std::size_t source = broadcast.Source();
  broadcast.Kill(source);
  // On a busy machine it may have sent the last byte before it died.
  const bool cut_short = broadcast.Sent(source) < kSize;
  broadcast.ExpectHealed();
  if (cut_short) EXPECT_GT(broadcast.Resumed(), before);
}

INSTANTIATE_TEST_SUITE_P(Percent, SourceKilledAt,
                         ::testing::Values(3, 11, 23, 31, 42, 50, 67, 74, 85, 93));

struct Victims {
  const char* name;
  std::vector<std::size_t> nodes;
};
class MembersKilled : public ::testing::TestWithParam<Victims> {};

TEST_P(MembersKilled, TheOthersGetTheBytes) {
  Broadcast broadcast;
  broadcast.WaitForBytes(5, kSize / 4);
  for (const std::size_t node : GetParam().nodes) broadcast.Kill(node);
  broadcast.ExpectHealed();
}

INSTANTIATE_TEST_SUITE_P(Places, MembersKilled,
                         ::testing::Values(Victims{"First", {2}}, Victims{"Middle", {3}},
                                           Victims{"Last", {5}}, Victims{"TwoRelays", {2, 4}},
                                           Victims{"SourceAndRelay", {0, 3}}),
                         [](const auto& info) { return info.param.name; });

// The closed socket is enough to re-route, long before the node is declared lost.
TEST(SourceKilled, TheNextBytesComeAtOnce) {
  Broadcast broadcast;
  broadcast.WaitForBytes(2, kSize / 3);
  std::map<std::size_t, std::uint64_t> before;  // who came late took others' places
  for (std::size_t i = 2; i < Broadcast::kNodes; ++i) before[i] = broadcast.Resumed(i);
  const std::size_t source = broadcast.Source();
  const auto start = std::chrono::steady_clock::now();
  auto killing = std::async(std::launch::async, [&] { broadcast.Kill(source); });
  std::size_t orphan = 2;
  ASSERT_TRUE(Eventually([&] {
    orphan = orphan + 1 < Broadcast::kNodes ? orphan + 1 : 2;
    return broadcast.Resumed(orphan) > before[orphan];
  }));
  const std::uint64_t had = broadcast.Received(orphan);
  ASSERT_TRUE(Eventually([&] { return broadcast.Received(orphan) > had; }));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  killing.get();
  RecordProperty("milliseconds", std::to_string(took.count()));
  std::cout << "re-routed after " << took.count() << " ms\n";
  EXPECT_LT(took.count(), 1000);
  broadcast.ExpectHealed();
}

}  // namespace
}  // namespace hoplite
