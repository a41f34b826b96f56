// Orders of events that are rare in practice: each once left something hanging, pinned or undone.
#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "testing/cluster.h"
#include "testing/raw_peer.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using testing::Text;
using namespace std::chrono_literals;

// A wait for memory looks again when the last pin of something evictable goes.
TEST(Interleaving, AGetThatWaitsForMemoryGoesOnWhenAViewIsDropped) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 8_MiB});
  const auto first = cluster.client(0).Put(Pattern(5_MiB, 1));
  const auto second = cluster.client(0).Put(Pattern(5_MiB, 2));
  auto client = cluster.client(small);
  std::optional<Buffer> view = *client.Get(*first, kSoon);
  auto waiting = client.GetAsync(*second, {.timeout = 10s});
  std::this_thread::sleep_for(100ms);  // so that it waits for memory, not for the directory
  EXPECT_FALSE(waiting.ready());
  view.reset();
  const auto got = waiting.Wait();
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(Text(*got) == Pattern(5_MiB, 2));
}

// A client of a node with a store of 8 MiB, of which a view pins so much.
struct PinnedStore {
  explicit PinnedStore(std::uint64_t pinned)
      : view(client.Get(*elsewhere.Put(Pattern(pinned, 16)), kSoon)) {
    EXPECT_TRUE(view) << view.error().ToString();
  }

  Cluster cluster{{.nodes = 1, .memory_bytes = 32_MiB}};
  Client elsewhere = cluster.client(0);
  Client client = cluster.client(cluster.Add({.memory_bytes = 8_MiB}));
  const Result<Buffer> view;
};

// The directory has answered the node's Locate and does not know that the node still waits.
TEST(Interleaving, AGetThatWaitsForMemoryHearsOfADelete) {
  PinnedStore full(8_MiB);
  ASSERT_TRUE(full.view);
  for (const std::uint64_t size : {5_MiB, 1_KiB}) {
    const auto wanted = full.elsewhere.Put(Pattern(size, 17));
    ASSERT_TRUE(wanted);
    auto waiting = full.client.GetAsync(*wanted, kSoon);
    std::this_thread::sleep_for(100ms);  // so that it waits for memory, not for the directory
    EXPECT_FALSE(waiting.ready());
    ASSERT_TRUE(full.elsewhere.Delete(*wanted, kSoon));
    const auto got = waiting.Wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kDeleted) << got.error().ToString();
  }
}

// The first version goes before there is memory for it, and for the next there is enough.
TEST(Interleaving, AGetThatWaitsForMemoryHearsOfANewerVersion) {
  PinnedStore small(5_MiB);
  ASSERT_TRUE(small.view);
  const ObjectId id = ObjectId::Random();
  auto first = small.elsewhere.Create(id, 4_MiB);
  ASSERT_TRUE(first) << first.error().ToString();
  auto waiting = small.client.GetAsync(id, {.timeout = 20s});
  EXPECT_TRUE(Eventually([&] {
    const auto got = small.client.Get(id, {.timeout = 100ms});
    return !got && got.error().message.contains("no memory is free");
  }));
  first->Abort();
  ASSERT_TRUE(small.elsewhere.Put(Pattern(1_MiB, 20), {.id = id}));
  const auto got = waiting.Wait();
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_TRUE(Text(*got) == Pattern(1_MiB, 20));
}

// A flight that nobody wants any more takes a moment to end; a request that comes meanwhile must
// not get its copy.
TEST(Interleaving, AnOpenBehindACancelledOneReadsTheObject) {
  Cluster cluster({.nodes = 2, .rate_bytes_per_second = 20'000'000});
  const auto id = cluster.client(0).Put(Pattern(32_MiB, 18));
  ASSERT_TRUE(id);
  auto client = cluster.client(1);
  for (int i = 0; i < 200; ++i) {
    {
      auto cancelled = client.Open(*id, kSoon);
      ASSERT_TRUE(cancelled) << cancelled.error().ToString();
      if (i % 2 == 0) ASSERT_TRUE(cancelled->WaitFor(1, 30s));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5 * i));
    auto reader = client.Open(*id, kSoon);
    ASSERT_TRUE(reader) << reader.error().ToString();
    const auto first = reader->WaitFor(1, 30s);
    ASSERT_TRUE(first) << "round " << i << ": " << first.error().ToString();
  }
}

// The question whether a copy may go is asked again when the directory is back.
TEST(Interleaving, AnEvictionIsAskedAgainAfterASessionWasLost) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 8_MiB});
  const auto first = cluster.client(0).Put(Pattern(5_MiB, 3));
  auto client = cluster.client(small);
  ASSERT_TRUE(client.Get(*first, kSoon));
  const NodeId self = cluster.id(small);
  cluster.directory().Cut(self);
  auto putter = std::async(std::launch::async, [client]() mutable {
    return client.Put(Pattern(5_MiB, 4), {.timeout = 20s});
  });
  EXPECT_EQ(putter.wait_for(200ms), std::future_status::timeout);
  cluster.directory().Reconnect(self);
  const auto put = putter.get();
  EXPECT_TRUE(put) << put.error().ToString();
}

// A node that is cut off from the directory.
class CutOff : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.directory().Cut(self_);
    ASSERT_TRUE(Eventually([this] { return !cluster_.has_session(self_); }));
  }

  Cluster cluster_{{.nodes = 2}};
  const NodeId self_ = cluster_.id(0);
  Client client_ = cluster_.client(0);
  const ObjectId id_ = ObjectId::Random();
};

// An aborted Put whose announcement was never answered gives its memory and its id back.
TEST_F(CutOff, AnAbortedPutIsForgottenWithTheSessionThatShouldHaveAnswered) {
  {
    ASSERT_TRUE(client_.Create(id_, 2_MiB));
  }
  cluster_.directory().Reconnect(self_);
  EXPECT_TRUE(Eventually([&] { return cluster_.node(0).usage().used_bytes == 0; }));
  const auto put = client_.Put(Pattern(2_MiB, 5), {.id = id_, .timeout = 10s});
  EXPECT_TRUE(put) << put.error().ToString();
}

// A Delete that was answered with a timeout must not delete what is put afterwards.
TEST_F(CutOff, ADeleteThatTimedOutIsNotRepeatedLater) {
  const auto deleted = client_.Delete(id_, {.timeout = 50ms});
  ASSERT_FALSE(deleted);
  EXPECT_EQ(deleted.error().code, ErrorCode::kTimeout);
  cluster_.directory().Reconnect(self_);
  ASSERT_TRUE(Eventually([&] { return cluster_.has_session(self_); }));
  const auto put = client_.Put(Pattern(1_MiB, 6), {.id = id_, .timeout = 10s});
  EXPECT_TRUE(put) << put.error().ToString();
}

// A node that was away for longer than Deletes are remembered joins empty.
TEST(Interleaving, ADeletedObjectDoesNotReturnWithANodeThatWasAway) {
  ClusterOptions options{.nodes = 2};
  options.directory.service.planner.tombstone = 200ms;
  Cluster cluster(options);
  const ObjectId id = ObjectId::Random();
  ASSERT_TRUE(cluster.client(0).Put(Pattern(1_MiB, 7), {.id = id}));
  ASSERT_TRUE(cluster.client(1).Get(id, kSoon));
  const NodeId away = cluster.id(1);
  cluster.directory().Lose(away);
  ASSERT_TRUE(cluster.client(0).Delete(id, kSoon));
  std::this_thread::sleep_for(500ms);  // the tombstone's time
  cluster.directory().Reconnect(away);
  ASSERT_TRUE(Eventually([&] { return cluster.has_session(away); }));
  EXPECT_TRUE(Eventually([&] { return cluster.node(1).usage().used_bytes == 0; }));
  const auto view = cluster.client(0).Get(id, {.timeout = 300ms});
  EXPECT_FALSE(view) << "a deleted object returned";
}

// A node that was declared lost keeps what it has, and the stream that the directory knows nothing
// of gives way to a new grant.
TEST(Interleaving, AReceiverThatWasDeclaredLostGoesOnWithItsBytes) {
  Cluster cluster({.nodes = 2, .rate_bytes_per_second = 8'000'000});
  const std::string bytes = Pattern(6_MiB, 15);
  const auto id = cluster.client(0).Put(bytes);
  ASSERT_TRUE(id);
  auto waiting = cluster.client(1).GetAsync(*id, kSoon);
  const auto& counters = cluster.node(1).counters();
  ASSERT_TRUE(Eventually([&] { return counters.bytes_received > 1_MiB; }));
  const NodeId away = cluster.id(1);
  cluster.directory().Lose(away);
  ASSERT_TRUE(Eventually([&] { return !cluster.has_session(away); }));
  cluster.directory().Reconnect(away);
  const auto view = waiting.Wait();
  ASSERT_TRUE(view) << view.error().ToString();
  EXPECT_TRUE(Text(*view) == bytes);
  EXPECT_EQ(counters.fetches_started, 2u);
  EXPECT_EQ(counters.fetches_resumed, 1u);
  EXPECT_LT(counters.bytes_received, bytes.size() + 1_MiB);
  EXPECT_TRUE(cluster.has_session(away));
}

// A connection that rested in the pool has been silent, but nobody owed anything on it.
TEST(Interleaving, ARestedConnectionIsNotTakenForASilentSource) {
  constexpr auto kStall = 1000ms;
  Cluster cluster({.nodes = 1});
  const std::size_t receiver = cluster.Add({.stall = kStall, .keepalive = 50ms});
  auto putter = cluster.client(0);
  auto getter = cluster.client(receiver);
  ASSERT_TRUE(getter.Get(*putter.Put(Pattern(1_MiB, 8)), kSoon));
  std::this_thread::sleep_for(kStall + 200ms);
  const ObjectId id = ObjectId::Random();
  auto draft = putter.Create(id, 1_MiB);  // nothing is written yet: the source has nothing to say
  ASSERT_TRUE(draft);
  auto reader = getter.Open(id, kSoon);
  ASSERT_TRUE(reader) << reader.error().ToString();
  std::this_thread::sleep_for(2 * kStall);
  EXPECT_EQ(cluster.node(receiver).counters().fetches_started, 2u);
  const std::string bytes = Pattern(1_MiB, 9);
  std::memcpy(draft->data().data(), bytes.data(), bytes.size());
  ASSERT_TRUE(draft->Advance(bytes.size()));
  ASSERT_TRUE(draft->Seal());
  EXPECT_TRUE(reader->WaitFor(bytes.size(), 30s));
}

// A local Get that waits finds the object when it is put here.
TEST(Interleaving, ALocalPutEndsTheFlightOfALocalGet) {
  Cluster cluster({.nodes = 1});
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{100}, 1_MiB}) {
    const ObjectId id = ObjectId::Random();
    auto waiting = cluster.client(0).GetAsync(id, kSoon);
    const auto put = cluster.client(0).Put(Pattern(size, 10), {.id = id});
    ASSERT_TRUE(put) << put.error().ToString();
    const auto view = waiting.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == Pattern(size, 10));
  }
}

TEST(Interleaving, OneOfTwoLocalPutsOfAnIdWins) {
  Cluster cluster({.nodes = 1});
  const ObjectId id = ObjectId::Random();
  auto first = cluster.client(0).Create(id, 1_MiB);
  ASSERT_TRUE(first);
  const auto second = cluster.client(0).Create(id, 1_MiB);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kAlreadyExists);
  first->Abort();
  const auto third = cluster.client(0).Put(Pattern(1_MiB, 11), {.id = id, .timeout = 10s});
  EXPECT_TRUE(third) << third.error().ToString();
}

TEST(Interleaving, ADeleteEndsAPutUnderWayAndItsReaders) {
  Cluster cluster({.nodes = 2});
  const ObjectId id = ObjectId::Random();
  auto draft = cluster.client(0).Create(id, 1_MiB);
  ASSERT_TRUE(draft);
  ASSERT_TRUE(draft->Advance(512_KiB));
  auto reader = cluster.client(1).Open(id, kSoon);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(cluster.client(1).Delete(id, kSoon));
  const auto rest = reader->WaitFor(1_MiB, 30s);
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().code, ErrorCode::kDeleted) << rest.error().ToString();
  ASSERT_TRUE(Eventually([&] { return !draft->Advance(768_KiB); }));
  const auto sealed = draft->Seal();
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().code, ErrorCode::kDeleted) << sealed.error().ToString();
  draft->Abort();
  {
    const Reader closed = std::move(*reader);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(Eventually([&] { return cluster.node(i).usage().used_bytes == 0; })) << i;
  }
}

// Whatever clients wait for, a node that stops answers them and ends.
TEST(Interleaving, AStopEndsEverythingThatWaits) {
  Cluster cluster({.nodes = 2, .memory_bytes = 8_MiB, .rate_bytes_per_second = 1'000'000});
  auto client = cluster.client(1);
  const auto large = cluster.client(0).Put(Pattern(6_MiB, 12));
  auto arriving = client.GetAsync(*large, kSoon);
  auto missing = client.GetAsync(ObjectId::Random(), kSoon);
  ASSERT_TRUE(Eventually([&] { return cluster.node(1).usage().used_bytes > 0; }));
  const auto other = cluster.client(0).Put(Pattern(1_MiB, 13));
  auto draft = client.Create(ObjectId::Random(), 1_MiB);
  auto no_room = client.GetAsync(*large, kSoon);
  const auto start = std::chrono::steady_clock::now();
  cluster.Stop(1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 9s) << "a task had to be given up";
  for (auto* waiting : {&arriving, &missing, &no_room}) EXPECT_FALSE(waiting->Wait());
  ASSERT_TRUE(other);
}

// A directory that takes connections and never says a word.
TEST(Interleaving, AStopDoesNotWaitForASilentDirectory) {
  const testing::RawListener silent;
  NodeConfig config;
  config.directory = {silent.address()};
  config.memory_bytes = 8_MiB;
  auto node = node::Node::Start(config);
  ASSERT_TRUE(node) << node.error().ToString();
  auto client = testing::ClientOf(**node);
  auto info = std::async(std::launch::async, [client]() mutable {
    return client.Info(ObjectId::FromName("x"), {.timeout = 60s});
  });
  auto put = std::async(std::launch::async, [client]() mutable {
    return client.Put(Pattern(1_MiB, 14), {.timeout = 60s});
  });
  auto deleted = std::async(std::launch::async, [client]() mutable {
    return client.Delete(ObjectId::FromName("x"), {.timeout = 60s});
  });
  EXPECT_EQ(put.wait_for(200ms), std::future_status::timeout);
  const auto start = std::chrono::steady_clock::now();
  (*node)->Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 9s) << "a task had to be given up";
  EXPECT_FALSE(info.get());
  EXPECT_FALSE(put.get());
  EXPECT_FALSE(deleted.get());
}

TEST(Interleaving, ANodeThatCannotListenSaysSo) {
  const testing::RawListener taken;
  NodeConfig config;
  config.directory = {"127.0.0.1:1"};
  config.listen = taken.address();
  config.memory_bytes = 8_MiB;
  const auto node = node::Node::Start(config);
  ASSERT_FALSE(node);
  EXPECT_NE(node.error().message.find(taken.address()), std::string::npos)
      << node.error().ToString();
}

TEST(Interleaving, ASizeThatCannotBeIsRefused) {
  Cluster cluster({.nodes = 1});
  const auto draft = cluster.client(0).Create(ObjectId::Random(), std::uint64_t{1} << 63);
  ASSERT_FALSE(draft);
  EXPECT_TRUE(draft.error().code == ErrorCode::kResourceExhausted ||
              draft.error().code == ErrorCode::kInvalidArgument)
      << draft.error().ToString();
}

}  // namespace
}  // namespace hoplite
