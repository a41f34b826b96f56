// Puts of small objects that end while the directory does not answer must leave nothing (R47).
#include <thread>

#include <gmock/gmock.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::kSoon;
using testing::Text;
using namespace std::chrono_literals;

const ObjectId kId = ObjectId::FromName("given up");

// The object is gone, and its id is free.
void ExpectNothingOfIt(Cluster& cluster) {
  ASSERT_TRUE(cluster.client(0).Put("next", {.id = kId, .timeout = 30s}));
  const auto got = cluster.client(1).Get(kId, kSoon);
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_EQ(Text(*got), "next");
  EXPECT_EQ(cluster.node(1).usage().copies, 0u) << "receivers of small ones are no holders";
}

TEST(WithdrawnPut, ThatTimedOutDoesNotExistAfterwards) {
  Cluster cluster({});
  auto stopped = cluster.StopDirectory();
  const auto put = cluster.client(0).Put("first", {.id = kId, .timeout = 100ms});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kTimeout);
  const auto again = cluster.client(0).Put("second", {.id = kId, .timeout = 100ms});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(again.error().message, ::testing::HasSubstr("an earlier one was taken back"));
  EXPECT_EQ(cluster.node(0).usage().used_bytes, 0u);
  stopped.reset();
  ExpectNothingOfIt(cluster);
}

TEST(WithdrawnPut, ThatWasCancelledDoesNotExistAfterwards) {
  Cluster cluster({});
  auto stopped = cluster.StopDirectory();
  Client client = cluster.client(0);
  Result<ObjectId> put = ObjectId();
  std::jthread putter([&] { put = Client(client).Put("first", {.id = kId}); });
  // Reserved and announced in one go.
  ASSERT_TRUE(Eventually([&] { return cluster.node(0).usage().used_bytes > 0; }));
  client.Close();
  putter.join();
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kCancelled);
  ASSERT_TRUE(Eventually([&] { return cluster.node(0).usage().used_bytes == 0; }));
  stopped.reset();
  // The shard is told of the put and then that it is taken back: in between the object exists. What
  // the same node says later is answered after both.
  ASSERT_TRUE(cluster.client(0).Put("later", {.timeout = 30s}));
  EXPECT_FALSE(cluster.Find(kId));
  ExpectNothingOfIt(cluster);
}

}  // namespace
}  // namespace hoplite
