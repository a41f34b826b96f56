// Memory under pressure: more is asked for than a node holds, and nobody waits for ever.
#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "testing/bytes.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::kSoon;
using testing::Pattern;
using testing::Text;
using namespace std::chrono_literals;

ObjectId Put(Cluster& cluster, std::size_t node, const std::string& bytes) {
  return cluster.client(node).Put(bytes, {.timeout = 30s}).value();
}

void ExpectBytes(const Result<Buffer>& view, const std::string& bytes) {
  ASSERT_TRUE(view) << view.error().ToString();
  EXPECT_TRUE(Text(*view) == bytes);
}

TEST(Memory, AFanInOfThreeTimesTheStoreGoesOnAsViewsAreDropped) {
  Cluster cluster({.nodes = 3, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 8_MiB});
  constexpr std::size_t kObjects = 12;
  std::vector<std::string> bytes;
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < kObjects; ++i) {
    bytes.push_back(Pattern(2_MiB, i));
    ids.push_back(Put(cluster, i % 3, bytes[i]));
  }
  const Client client = cluster.client(small);
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < kObjects; ++i) {
    readers.emplace_back([&, i] { ExpectBytes(Client(client).Get(ids[i], kSoon), bytes[i]); });
  }
}

TEST(Memory, AReceiverWithoutRoomHoldsNobodyUpAndGetsItLater) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB, .rate_bytes_per_second = 8'000'000});
  const std::size_t full = cluster.Add({.memory_bytes = 6_MiB});
  const std::size_t never = cluster.Add({.memory_bytes = 2_MiB});
  const std::size_t first = cluster.Add({.memory_bytes = 32_MiB});
  const std::size_t second = cluster.Add({.memory_bytes = 32_MiB});
  const ObjectId filling = Put(cluster, full, Pattern(4_MiB, 1));
  const std::string bytes = Pattern(4_MiB, 2);
  const ObjectId id = Put(cluster, 0, bytes);
  auto waiting = cluster.client(full).GetAsync(id, kSoon);
  const auto refused = cluster.client(never).Get(id, kSoon);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  auto one = cluster.client(first).GetAsync(id, kSoon);
  auto other = cluster.client(second).GetAsync(id, kSoon);
  ExpectBytes(one.Wait(), bytes);
  ExpectBytes(other.Wait(), bytes);
  EXPECT_FALSE(waiting.ready());
  ASSERT_TRUE(cluster.client(first).Delete(filling, kSoon));
  ExpectBytes(waiting.Wait(), bytes);
}

// The last Get would wait for ever for memory that the call's own answers pin (R45).
TEST(Memory, AskedForTogetherWhatHasNoRoomBesideTheRestIsRefused) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 4_MiB});
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < 10; ++i) ids.push_back(Put(cluster, 0, Pattern(1_MiB, i)));
  Client client = cluster.client(small);
  const auto answers = client.GetMany(ids);
  std::size_t got = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (answers[i]) {
      ++got;
      ExpectBytes(answers[i], Pattern(1_MiB, i));
    } else {
      EXPECT_EQ(answers[i].error().code, ErrorCode::kResourceExhausted);
      EXPECT_THAT(answers[i].error().message, ::testing::HasSubstr("4194304"));
    }
  }
  EXPECT_EQ(got, 4u);
}

// Memory that other clients pin may come back.
TEST(Memory, AskedForTogetherWhatOthersStandInTheWayOfIsWaitedFor) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 4_MiB});
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < 4; ++i) ids.push_back(Put(cluster, 0, Pattern(1_MiB, i)));
  Client other = cluster.client(small);
  auto pinned = other.Get(Put(cluster, 0, Pattern(2_MiB, 9)), kSoon);
  ASSERT_TRUE(pinned);
  std::vector<Result<Buffer>> answers;
  std::atomic<bool> answered = false;
  std::jthread getter([&] {
    answers = cluster.client(small).GetMany(ids, kSoon);
    answered = true;
  });
  EXPECT_FALSE(testing::Eventually([&] { return answered.load(); }, 100ms));
  pinned = Buffer();
  getter.join();
  for (std::size_t i = 0; i < ids.size(); ++i) ExpectBytes(answers[i], Pattern(1_MiB, i));
}

// Each call has one half of the store and waits for the other's half: neither would ever give
// anything back (R45). The call that came last is told so, and lets the other go on.
TEST(Memory, OfTwoWhoHoldWhatTheOtherNeedsTheLastOneGivesWay) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 4_MiB});
  const auto usage = [&] { return cluster.node(small).usage().used_bytes; };
  const auto id = [](std::size_t caller, std::size_t which) {
    return ObjectId::FromName(std::to_string(caller) + " " + std::to_string(which));
  };
  const auto put = [&](std::size_t caller, std::size_t which) {
    const std::string bytes = Pattern(2_MiB, 2 * caller + which);
    ASSERT_TRUE(cluster.client(0).Put(bytes, {.id = id(caller, which), .timeout = 30s}));
  };
  std::vector<std::optional<Error>> ends[2];
  std::vector<std::jthread> callers;
  for (std::size_t caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&, caller] {
      const ObjectId ids[] = {id(caller, 0), id(caller, 1)};
      for (const auto& answer : cluster.client(small).GetMany(ids)) {
        ends[caller].push_back(answer ? std::nullopt : std::optional(answer.error()));
      }
    });
    put(caller, 0);
    // Who asks for the other object may hold room as well (R63).
    ASSERT_TRUE(testing::Eventually([&] { return usage() >= (caller + 1) * 2_MiB; }));
  }
  put(0, 1);
  put(1, 1);
  callers.clear();
  EXPECT_THAT(ends[0], ::testing::Each(std::nullopt));
  ASSERT_EQ(ends[1].size(), 2u);
  EXPECT_FALSE(ends[1][0]);
  ASSERT_TRUE(ends[1][1]);
  EXPECT_EQ(ends[1][1]->code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(ends[1][1]->message, ::testing::HasSubstr("came first"));
}

TEST(Memory, BuffersOfOneSmallObjectShareItsBytes) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 4_MiB});
  const std::string bytes = Pattern(16_KiB, 1);
  const ObjectId id = Put(cluster, 0, bytes);
  Client client = cluster.client(small);
  std::vector<Result<Buffer>> views;
  for (int i = 0; i < 100; ++i) {
    views.push_back(client.Get(id, {.timeout = 10s}));
    ExpectBytes(views.back(), bytes);
  }
  EXPECT_EQ(cluster.node(small).usage().used_bytes, 16_KiB);
  // A new version takes memory of its own.
  ASSERT_TRUE(client.Delete(id, kSoon));
  EXPECT_EQ(client.Get(id, kSoon).error().code, ErrorCode::kDeleted);
  views.clear();
  EXPECT_TRUE(testing::Eventually([&] { return cluster.node(small).usage().used_bytes == 0; }));
}

TEST(Memory, ASmallObjectWithoutRoomSaysSo) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t full = cluster.Add({.memory_bytes = 1_MiB});
  Put(cluster, full, Pattern(1_MiB, 1));
  const ObjectId id = Put(cluster, 0, Pattern(16_KiB, 2));
  const auto refused = cluster.client(full).Get(id, {.timeout = 200ms});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("no memory is free for its 16384"));
}

// A copy that has arrived in part is never evicted; one that has arrived whole may be.
TEST(Memory, TwoNodesThatEachNeedWhatTheOtherHasGoOn) {
  Cluster cluster({.nodes = 2, .memory_bytes = 6_MiB});
  const std::size_t origin = cluster.Add({.memory_bytes = 32_MiB});
  const std::string bytes[] = {Pattern(4_MiB, 1), Pattern(4_MiB, 2)};
  const ObjectId ids[] = {Put(cluster, origin, bytes[0]), Put(cluster, origin, bytes[1])};
  for (std::size_t round = 0; round < 6; ++round) {
    const std::size_t turned = round % 2;
    std::vector<std::jthread> readers;
    for (std::size_t node = 0; node < 2; ++node) {
      const std::size_t which = node ^ turned;
      readers.emplace_back([&, node, which] {
        ExpectBytes(cluster.client(node).Get(ids[which], kSoon), bytes[which]);
      });
    }
  }
}

// A draft takes memory before its bytes are there, so two of them can wait for each other's end.
TEST(Memory, PutsThatFindNoRoomEndAtTheirDeadlineAndLeaveNothing) {
  Cluster cluster({.nodes = 1, .memory_bytes = 8_MiB});
  Client client = cluster.client(0);
  {
    auto draft = client.Create(ObjectId::FromName("a"), 6_MiB);
    ASSERT_TRUE(draft);
    const auto refused = client.Create(ObjectId::FromName("b"), 6_MiB, {.timeout = 300ms});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  }
  const auto put = client.Put(Pattern(6_MiB, 3), {.timeout = 30s});
  EXPECT_TRUE(put) << put.error().ToString();
}

// What waits for a silent shard takes memory by the object.
TEST(Memory, ObjectsOfAClientsRequestsAreCounted) {
  Cluster cluster({.nodes = 1});
  Client client = cluster.client(0);
  std::vector<ObjectId> ids(kMaxIdsAtOnce);
  std::ranges::generate(ids, ObjectId::Random);
  std::vector<Future<void>> waiting;
  auto stopped = cluster.StopDirectory();
  for (int i = 0; i < 4; ++i) waiting.push_back(client.DeleteAsync(ids, kSoon));
  const auto refused = client.DeleteAsync(ids, kSoon).Wait();
  EXPECT_EQ(test::CodeOf(refused), ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("objects in these"));
  stopped.reset();
  for (const Future<void>& deleted : waiting) EXPECT_TRUE(deleted.Wait());
  EXPECT_TRUE(client.DeleteAsync(ids, kSoon).Wait());
}

}  // namespace
}  // namespace hoplite
