// Objects between real nodes over TCP on the loopback, with the directory in the same process.
#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::ClusterOptions;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using testing::Text;
using namespace std::chrono_literals;

class TransferOfSize : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(TransferOfSize, EveryNodeGetsEqualBytes) {
  Cluster cluster({.nodes = 3, .memory_bytes = 96_MiB});
  const std::string bytes = Pattern(GetParam(), 1);
  auto putter = cluster.client(0);
  const auto id = putter.Put(bytes, {.metadata = "shape"});
  ASSERT_TRUE(id) << id.error().ToString();
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const auto view = cluster.client(i).Get(*id, kSoon);
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
    EXPECT_EQ(view->metadata(), "shape");
  }
}

// Around the inline limit, the block, and the size from which two connections are used.
INSTANTIATE_TEST_SUITE_P(Sizes, TransferOfSize,
                         ::testing::Values(0, 1, 16_KiB - 1, 16_KiB, 16_KiB + 1, 80_KiB, 1_MiB,
                                           1_MiB + 1, 33_MiB + 5));

TEST(Transfer, AWaitingGetReturnsAfterThePut) {
  Cluster cluster({.nodes = 2});
  const ObjectId id = ObjectId::FromName("later");
  auto waiting = cluster.client(1).GetAsync(id, kSoon);
  EXPECT_FALSE(waiting.ready());
  const std::string bytes = Pattern(1_MiB, 2);
  ASSERT_TRUE(cluster.client(0).Put(bytes, {.id = id}));
  const auto view = waiting.Wait();
  ASSERT_TRUE(view) << view.error().ToString();
  EXPECT_TRUE(Text(*view) == bytes);
}

TEST(Transfer, ADeadlineGivesAnErrorThatSaysWhatIsMissing) {
  Cluster cluster({.nodes = 1});
  const ObjectId id = ObjectId::FromName("never");
  const auto asked =
      cluster.client(0).GetAsync(id);  // of what is asked for once the shard is heard
  EXPECT_TRUE(Eventually([&] {
    const auto view = cluster.client(0).Get(id, {.timeout = 50ms});
    EXPECT_TRUE(!view && view.error().code == ErrorCode::kTimeout);
    return !view && view.error().message.find("it does not exist") != std::string::npos;
  }));
}

// Counts what is connected.
class CountingTransport final : public net::Transport {
 public:
  using Count = std::shared_ptr<std::atomic<int>>;
  CountingTransport(std::unique_ptr<net::Transport> inner, Count connects)
      : inner_(std::move(inner)), connects_(std::move(connects)) {}

  Result<std::unique_ptr<net::Listener>> Listen(
      const std::string& address, std::function<void(net::StreamPtr)> on_accept) override {
    return inner_->Listen(address, std::move(on_accept));
  }
  net::Task<Result<net::StreamPtr>> Connect(std::string address, Duration timeout) override {
    ++*connects_;
    return inner_->Connect(std::move(address), timeout);
  }

 private:
  const std::unique_ptr<net::Transport> inner_;
  const Count connects_;
};

// Gets of so many objects of which none ends before each has begun.
void FetchTogether(Cluster& cluster, int objects) {
  auto putter = cluster.client(0);
  auto getter = cluster.client(1);
  std::vector<Draft> drafts;
  std::vector<Reader> readers;
  for (int i = 0; i < objects; ++i) {
    auto draft = putter.Create(ObjectId::Random(), 128_KiB);
    ASSERT_TRUE(draft) << draft.error().ToString();
    ASSERT_TRUE(draft->Advance(64_KiB));
    drafts.push_back(*std::move(draft));
    auto reader = getter.Open(drafts.back().id(), kSoon);
    ASSERT_TRUE(reader) << reader.error().ToString();
    readers.push_back(*std::move(reader));
  }
  for (Reader& reader : readers) ASSERT_TRUE(reader.WaitFor(64_KiB, 60s));
  for (Draft& draft : drafts) ASSERT_TRUE(draft.Seal(60s));
  for (Reader& reader : readers) {
    ASSERT_TRUE(reader.WaitFor(128_KiB, 60s));
    ASSERT_TRUE(putter.Delete(reader.id()));
  }
}

// New ones are made the first time, and while one of the time before is not given back yet.
TEST(Transfer, ManyObjectsAtOnceNeedNoNewConnectionsTheNextTime) {
  const auto connects = std::make_shared<std::atomic<int>>(0);
  Cluster cluster({.nodes = 2, .between = [connects](std::unique_ptr<net::Transport> inner) {
                     return std::make_unique<CountingTransport>(std::move(inner), connects);
                   }});
  constexpr int kObjects = 40;
  ASSERT_NO_FATAL_FAILURE(FetchTogether(cluster, kObjects));
  EXPECT_GE(*connects, kObjects);
  EXPECT_TRUE(Eventually([&] {
    const int before = *connects;
    FetchTogether(cluster, kObjects);
    return HasFatalFailure() || *connects == before;
  }));
}

TEST(Transfer, SmallObjectsOpenNoDataConnection) {
  Cluster cluster({.nodes = 2});
  const auto id = cluster.client(0).Put(Pattern(16_KiB, 3));
  ASSERT_TRUE(id);
  ASSERT_TRUE(cluster.client(1).Get(*id, kSoon));
  EXPECT_EQ(cluster.node(1).counters().fetches_started, 0u);
}

TEST(Transfer, TheSecondWorkersGetMovesNoBytes) {
  Cluster cluster({.nodes = 2});
  const auto id = cluster.client(0).Put(Pattern(1_MiB, 4));
  auto first = cluster.client(1);
  auto second = cluster.client(1);
  ASSERT_TRUE(first.Get(*id, kSoon));
  const auto moved = cluster.node(1).counters().bytes_received.load();
  ASSERT_TRUE(second.Get(*id, kSoon));
  EXPECT_EQ(cluster.node(1).counters().bytes_received, moved);
}

TEST(Transfer, AReceiverHasItsFirstBytesBeforeThePutHasItsLast) {
  Cluster cluster({.nodes = 2});
  const std::string bytes = Pattern(1_MiB, 5);
  const ObjectId id = ObjectId::Random();
  auto draft = cluster.client(0).Create(id, bytes.size());
  ASSERT_TRUE(draft) << draft.error().ToString();
  std::memcpy(draft->data().data(), bytes.data(), bytes.size() / 2);
  ASSERT_TRUE(draft->Advance(bytes.size() / 2));
  auto reader = cluster.client(1).Open(id, kSoon);
  ASSERT_TRUE(reader) << reader.error().ToString();
  const auto half = reader->WaitFor(bytes.size() / 2, 30s);
  ASSERT_TRUE(half) << half.error().ToString();
  EXPECT_EQ(std::memcmp(half->data(), bytes.data(), bytes.size() / 2), 0);
  std::memcpy(draft->data().data() + bytes.size() / 2, bytes.data() + bytes.size() / 2,
              bytes.size() / 2);
  ASSERT_TRUE(draft->Seal());
  const auto all = reader->WaitFor(bytes.size(), 30s);
  ASSERT_TRUE(all) << all.error().ToString();
  EXPECT_EQ(std::memcmp(all->data(), bytes.data(), bytes.size()), 0);
}

TEST(Transfer, PutOfAnExistingIdKeepsTheBytesThatAreThere) {
  Cluster cluster({.nodes = 2});
  const ObjectId id = ObjectId::Random();
  for (const std::uint64_t size : {std::uint64_t{100}, 1_MiB}) {
    const ObjectId object = size == 100 ? id : ObjectId::Random();
    ASSERT_TRUE(cluster.client(0).Put(Pattern(size, 6), {.id = object}));
    for (const std::size_t node : {0u, 1u}) {
      const auto again = cluster.client(node).Put(Pattern(size, 7), {.id = object});
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists) << again.error().ToString();
    }
    EXPECT_TRUE(Text(*cluster.client(1).Get(object, kSoon)) == Pattern(size, 6));
  }
}

TEST(Transfer, DeleteRemovesAllCopiesAndMemoryReturns) {
  Cluster cluster({.nodes = 3});
  const auto id = cluster.client(0).Put(Pattern(4_MiB, 8));
  ASSERT_TRUE(id);
  for (std::size_t i = 1; i < 3; ++i) ASSERT_TRUE(cluster.client(i).Get(*id, kSoon));
  ASSERT_TRUE(cluster.client(1).Delete(*id, kSoon));
  for (std::size_t i = 0; i < 3; ++i) {
    auto client = cluster.client(i);
    EXPECT_TRUE(Eventually([&] { return cluster.node(i).usage().used_bytes == 0; })) << i;
    const auto view = client.Get(*id, kSoon);
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code, ErrorCode::kDeleted) << view.error().ToString();
  }
  const auto again = cluster.client(0).Put("x", {.id = *id});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kDeleted);
}

TEST(Transfer, ManyReceiversAtOnceAllGetTheBytes) {
  Cluster cluster({.nodes = 9});
  const std::string bytes = Pattern(5_MiB + 3, 9);
  const ObjectId id = ObjectId::Random();
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 1; i < cluster.size(); ++i) {
    waiting.push_back(cluster.client(i).GetAsync(id, kSoon));
  }
  ASSERT_TRUE(cluster.client(0).Put(bytes, {.id = id}));
  for (auto& future : waiting) {
    const auto view = future.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
  }
  // The receivers form a pipelined line: the origin sends the object about once, not eight times.
  EXPECT_LT(cluster.node(0).counters().bytes_sent, 4 * bytes.size());
}

// R83: more bytes than stand before the shard's link leave it once.
TEST(Transfer, ASmallObjectThatManyWaitForGoesFromNodeToNode) {
  Cluster cluster({.nodes = 12});
  const std::string bytes = Pattern(16_KiB, 10);
  const ObjectId id = ObjectId::Random();
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 1; i < cluster.size(); ++i) {
    waiting.push_back(cluster.client(i).GetAsync(id, kSoon));
  }
  ASSERT_TRUE(Eventually([&] {
    const auto view = cluster.Find(id);
    return view && view->waiters.size() == waiting.size();
  }));
  ASSERT_TRUE(cluster.client(0).Put(bytes, {.id = id}));
  for (auto& future : waiting) {
    const auto view = future.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
  }
  EXPECT_TRUE(Eventually([&] {
    std::uint64_t gives = 0;
    for (std::size_t i = 1; i < cluster.size(); ++i) gives += cluster.node(i).counters().gives_sent;
    return gives == waiting.size() - 1;
  }));
}

// What a relay has it passes on before it has all: the last of the line has the first half while
// nobody has the second, which does not exist yet. (That this takes one hop's time is what
// Broadcast.* of the simulation say: real clocks of a busy machine say nothing.)
TEST(Transfer, ALineOfRelaysPassesOnWhatIsThere) {
  Cluster cluster({.nodes = 4, .rate_bytes_per_second = 20'000'000});
  const std::string bytes = Pattern(8_MiB, 10);
  const ObjectId id = ObjectId::FromName("growing");
  auto draft = cluster.client(0).Create(id, bytes.size(), {.timeout = 60s});
  ASSERT_TRUE(draft);
  std::memcpy(draft->data().data(), bytes.data(), bytes.size());
  std::vector<Future<Buffer>> waiting;
  for (std::size_t i = 1; i < 4; ++i) waiting.push_back(cluster.client(i).GetAsync(id, kSoon));
  ASSERT_TRUE(draft->Advance(bytes.size() / 2));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_TRUE(Eventually(
        [&] { return cluster.node(i).counters().bytes_received >= bytes.size() / 2; }, 60s))
        << i;
  }
  ASSERT_TRUE(draft->Advance(bytes.size()));
  ASSERT_TRUE(draft->Seal(60s));
  for (auto& future : waiting) {
    const auto view = future.Wait();
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Text(*view) == bytes);
  }
  EXPECT_LT(cluster.node(0).counters().bytes_sent, 2 * bytes.size()) << "each got it from there";
}

TEST(Transfer, SeveralObjectsAtOnceShareALink) {
  Cluster cluster({.nodes = 2, .memory_bytes = 64_MiB, .rate_bytes_per_second = 40'000'000});
  auto putter = cluster.client(0);
  const auto large = putter.Put(Pattern(24_MiB, 11));
  const auto small = putter.Put(Pattern(1_MiB, 12));
  auto getter = cluster.client(1);
  auto slow = getter.GetAsync(*large, kSoon);
  ASSERT_TRUE(getter.Get(*small, kSoon));
  EXPECT_FALSE(slow.ready()) << "the small object waited for the large one";
  ASSERT_TRUE(slow.Wait());
}

TEST(Transfer, SubscribersHearEveryLaterLocationInOrder) {
  Cluster cluster({.nodes = 3});
  auto listener = cluster.client(2);
  const ObjectId id = ObjectId::Random();
  auto subscription = listener.Subscribe(id);
  ASSERT_TRUE(subscription);
  ASSERT_TRUE(cluster.client(0).Put(Pattern(1_MiB, 13), {.id = id}));
  ASSERT_TRUE(cluster.client(1).Get(id, kSoon));
  std::vector<std::string> heard;
  while (heard.empty() || heard.back() != "n1 complete") {
    const auto next = subscription->Next(30s);
    ASSERT_TRUE(next) << next.error().ToString();
    heard.push_back(next->node +
                    (next->kind == LocationKind::kComplete ? " complete" : " partial"));
  }
  const std::vector<std::string> expected{"n0 partial", "n0 complete", "n1 partial", "n1 complete"};
  EXPECT_EQ(heard, expected);
}

TEST(Transfer, EvictedCopiesAreFetchedAgainAndPutsStay) {
  Cluster cluster({.nodes = 2, .memory_bytes = 32_MiB});
  const std::size_t small = cluster.Add({.memory_bytes = 8_MiB});
  std::vector<ObjectId> ids;
  for (std::uint64_t i = 0; i < 8; ++i)
    ids.push_back(*cluster.client(0).Put(Pattern(2_MiB, 20 + i)));
  auto client = cluster.client(small);
  const ObjectId own = *client.Put(Pattern(1_MiB, 40));
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < ids.size(); ++i) {
      const auto view = client.Get(ids[i], kSoon);
      ASSERT_TRUE(view) << view.error().ToString();
      EXPECT_TRUE(Text(*view) == Pattern(2_MiB, 20 + i));
      EXPECT_LE(cluster.node(small).usage().used_bytes, 8_MiB);
    }
  }
  const auto moved = cluster.node(small).counters().bytes_received.load();
  EXPECT_GT(moved, 8 * 2_MiB) << "nothing was evicted";
  EXPECT_TRUE(Text(*client.Get(own, kSoon)) == Pattern(1_MiB, 40));
  EXPECT_EQ(cluster.node(small).counters().bytes_received, moved);
}

TEST(Transfer, StatusTellsHowFullEveryNodeIs) {
  Cluster cluster({.nodes = 2, .memory_bytes = 8_MiB});
  ASSERT_TRUE(cluster.client(1).Put(Pattern(1_MiB, 50)));
  auto asked = cluster.client(0);
  EXPECT_TRUE(Eventually([&] {
    const auto status = asked.Status({.timeout = 10s});
    if (!status || status->nodes.size() != 2) return false;
    for (const auto& node : status->nodes) {
      const std::uint64_t used = node.name == "n1" ? 1_MiB : 0;
      if (node.memory_bytes != 8_MiB || node.used_bytes != used) return false;
    }
    return true;
  }));
}

TEST(Transfer, AnObjectLargerThanTheStoreIsRefusedWithBothSizes) {
  Cluster cluster({.nodes = 1, .memory_bytes = 8_MiB});
  const std::size_t large = cluster.Add({.memory_bytes = 32_MiB});
  const auto put = cluster.client(0).Put(Pattern(9_MiB, 14));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(put.error().message.find(std::to_string(9_MiB)), std::string::npos)
      << put.error().message;
  EXPECT_NE(put.error().message.find(std::to_string(8_MiB)), std::string::npos)
      << put.error().message;
  const auto id = cluster.client(large).Put(Pattern(9_MiB, 15));
  ASSERT_TRUE(id);
  const auto got = cluster.client(0).Get(*id, kSoon);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kResourceExhausted) << got.error().ToString();
}

TEST(Transfer, ACancelledGetLeavesNothingBehind) {
  Cluster cluster({.nodes = 2, .rate_bytes_per_second = 4'000'000});
  const auto id = cluster.client(0).Put(Pattern(16_MiB, 16));
  auto client = cluster.client(1);
  auto get = client.GetAsync(*id, kSoon);
  ASSERT_TRUE(Eventually([&] { return cluster.node(1).counters().bytes_received > 0; }));
  get.Cancel();
  const auto view = get.Wait();
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return cluster.node(1).usage().used_bytes == 0; }));
}

}  // namespace
}  // namespace hoplite
