// OnReady: what is called when an answer is there, over both ways of attaching. And WaitAny, over
// whatever can be waited for.
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

class ReadyTest : public AttachedTest {
 protected:
  const ObjectId id_ = ObjectId::Random();
};

HOPLITE_TEST_BOTH_WAYS(ReadyTest);

// Counts calls, and knows the thread of the last.
struct Calls {
  std::atomic<int> count{0};
  std::atomic<std::thread::id> thread;
  std::function<void()> Function() {
    return [this] {
      thread = std::this_thread::get_id();
      ++count;
    };
  }
  bool Come(int wanted) {
    return Eventually([&] { return count >= wanted; });
  }
};

TEST_P(ReadyTest, IsCalledOnceOnTheClientsThreadWithTheAnswerThere) {
  Calls calls;
  const auto future = client_.GetAsync(id_);
  std::string seen;
  future.OnReady([&] { seen = Text(future.Wait(0ms)); });
  future.OnReady(calls.Function());
  EXPECT_EQ(calls.count, 0);
  ASSERT_TRUE(Attach().Put("here", {.id = id_}));
  ASSERT_TRUE(calls.Come(1));
  EXPECT_EQ(seen, "here") << "in the order in which they were given";
  EXPECT_NE(calls.thread.load(), std::this_thread::get_id());
  EXPECT_TRUE(future.Wait());
  EXPECT_TRUE(client_.Status());  // answered by the same thread, later
  EXPECT_EQ(calls.count, 1);
}

TEST_P(ReadyTest, IsCalledAlsoWhenTheAnswerWasThereBefore) {
  Calls calls;
  ASSERT_TRUE(client_.Put("here", {.id = id_}));
  const auto future = client_.GetAsync(id_);
  ASSERT_TRUE(future.Wait());
  future.OnReady(calls.Function());
  ASSERT_TRUE(calls.Come(1));
  EXPECT_NE(calls.thread.load(), std::this_thread::get_id());
  future.OnReady(calls.Function());
  EXPECT_TRUE(calls.Come(2));
}

TEST_P(ReadyTest, CancelCloseAndTheNodesEndAreAnswersToo) {
  Calls cancelled;
  Calls closed;
  Calls lost;
  Client other = Attach();
  auto first = client_.GetAsync(id_);
  const auto second = other.GetAsync(id_);
  const auto third = client_.GetAsync(id_);
  first.OnReady(cancelled.Function());
  second.OnReady(closed.Function());
  third.OnReady(lost.Function());
  first.Cancel();
  EXPECT_TRUE(cancelled.Come(1));
  EXPECT_NE(cancelled.thread.load(), std::this_thread::get_id());
  other.Close();
  EXPECT_TRUE(closed.Come(1));
  second.OnReady(closed.Function());
  EXPECT_TRUE(closed.Come(2)) << "after Close, too";
  node_.Stop();
  EXPECT_TRUE(lost.Come(1));
  third.OnReady(lost.Function());
  EXPECT_TRUE(lost.Come(2)) << "and after the end of the connection";
  EXPECT_EQ(CodeOf(third.Wait()), ErrorCode::kUnavailable);
  EXPECT_EQ(cancelled.count, 1);
}

TEST_P(ReadyTest, TheDeadlineIsAnAnswer) {
  Calls calls;
  const auto future = client_.GetAsync(id_, {.timeout = 20ms});
  future.OnReady(calls.Function());
  EXPECT_TRUE(calls.Come(1));
  EXPECT_EQ(CodeOf(future.Wait()), ErrorCode::kTimeout);
}

TEST_P(ReadyTest, ADestroyedFutureCallsNobody) {
  const auto held = std::make_shared<int>(0);
  std::optional<Future<Buffer>> future = client_.GetAsync(id_);
  future->OnReady([held] { ++*held; });
  EXPECT_EQ(held.use_count(), 2);
  future.reset();
  EXPECT_EQ(held.use_count(), 1);
  ASSERT_TRUE(Attach().Put("here", {.id = id_}));
  EXPECT_TRUE(client_.Status());
  EXPECT_EQ(*held, 0);
}

TEST_P(ReadyTest, DestroyingAFutureWaitsForWhatItCalls) {
  std::promise<void> called;
  std::promise<void> go_on;
  std::atomic<bool> through{false};
  std::optional<Future<Buffer>> future = client_.GetAsync(id_);
  future->OnReady([&] {
    called.set_value();
    go_on.get_future().wait();
    through = true;
  });
  ASSERT_TRUE(Attach().Put("here", {.id = id_}));
  called.get_future().wait();
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    go_on.set_value();
  });
  future.reset();
  EXPECT_TRUE(through);
  later.join();
}

// The last owner of the connection goes on the client's own thread.
TEST_P(ReadyTest, MayDestroyItsFutureAndItsClient) {
  std::promise<void> done;
  {
    struct Owned {
      Client client;
      std::optional<Future<Buffer>> future;
    };
    auto owned = std::make_shared<Owned>(Owned{Attach(), {}});
    owned->future = owned->client.GetAsync(id_);
    Future<Buffer>& future = *owned->future;
    future.OnReady([owned, &done] {
      owned->future.reset();
      done.set_value();
    });
  }
  ASSERT_TRUE(client_.Put("here", {.id = id_}));
  done.get_future().wait();
  EXPECT_TRUE(Eventually([&] { return client_.Status()->clients.clients == 1; }));
}

TEST_P(ReadyTest, WaitingForItsOwnClientIsRefused) {
  std::promise<std::vector<std::optional<ErrorCode>>> codes;
  const auto never = client_.GetAsync(ObjectId::Random());
  const auto future = client_.GetAsync(id_);
  future.OnReady([&] {
    codes.set_value({CodeOf(client_.Info(id_)), CodeOf(never.Wait()), CodeOf(WaitAny({never})),
                     CodeOf(future.Wait())});
  });
  ASSERT_TRUE(Attach().Put("here", {.id = id_}));
  EXPECT_THAT(codes.get_future().get(),
              testing::ElementsAre(ErrorCode::kInvalidArgument, ErrorCode::kTimeout,
                                   ErrorCode::kTimeout, std::nullopt));
  EXPECT_TRUE(client_.Info(id_));
}

// The reader does not wait for the node's last word there: it would have to read it itself.
TEST_P(ReadyTest, AFutureWhoseDeadlineHasPassedHoldsUpNoOtherAnswer) {
  std::promise<std::string> why;
  const auto future = client_.GetAsync(id_);
  future.OnReady([&] {
    const auto late = client_.GetAsync(ObjectId::Random(), {.timeout = 0ms});
    why.set_value(late.Wait().error().message);
  });
  ASSERT_TRUE(Attach().Put("here", {.id = id_}));
  EXPECT_THAT(why.get_future().get(), testing::HasSubstr("is not there yet"));
}

TEST_P(ReadyTest, OfAReduction) {
  Calls calls;
  const auto reduction = client_.Reduce({.sources = {id_}});
  reduction->OnReady(calls.Function());
  ASSERT_TRUE(Attach().Put("abcd", {.id = id_}));
  EXPECT_TRUE(calls.Come(1));
  EXPECT_TRUE(reduction->Wait(0ms));
  {
    const auto forgotten = client_.Reduce({.sources = {ObjectId::Random()}});
    forgotten->OnReady(calls.Function());
  }
  EXPECT_TRUE(client_.Status());
  EXPECT_EQ(calls.count, 1);
}

TEST_P(ReadyTest, ManyThreadsAskAndForget) {
  std::atomic<int> called{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const ObjectId id = ObjectId::Random();
        std::optional<Future<Buffer>> future = client_.GetAsync(id);
        future->OnReady([&] { ++called; });
        if (i % 3 == 0) future.reset();
        ASSERT_TRUE(client_.Put("x", {.id = id}));
        if (i % 3 == 1) future->Cancel();
        if (i % 3 == 2) {
          ASSERT_TRUE(future->Wait());
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(called, 400);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
}

TEST(ReadyWithoutANode, IsCalledByTheAskingThread) {
  LocalNode node;
  Client client = node.Worker();
  node.Stop();
  ASSERT_TRUE(Eventually([&] { return !client.Put("x"); }));
  Calls calls;
  const auto future = client.GetAsync(ObjectId::Random());
  EXPECT_TRUE(future.ready());
  future.OnReady(calls.Function());
  EXPECT_EQ(calls.count, 1);
  EXPECT_EQ(CodeOf(future.Wait()), ErrorCode::kUnavailable);
}

class WaitAnyTest : public AttachedTest {};

HOPLITE_TEST_BOTH_WAYS(WaitAnyTest);

TEST_P(WaitAnyTest, TakesAllThatCanBeWaitedFor) {
  const ObjectId source = ObjectId::FromName("source");
  const auto get = client_.GetAsync(ObjectId::Random());
  const auto reduction = client_.Reduce({.sources = {source}}).value();
  EXPECT_EQ(CodeOf(WaitAny({get, reduction}, 5ms)), ErrorCode::kTimeout);
  const std::string bytes = "abcd";
  const auto put = client_.PutAsync(std::as_bytes(std::span(bytes)), {.id = source});
  EXPECT_EQ(WaitAny({get, put}, 10s), 1u);
  EXPECT_EQ(WaitAny({get, reduction}, 10s), 1u);
  std::vector<Reduction> reductions;
  reductions.push_back(client_.Reduce({.sources = {ObjectId::Random()}}).value());
  reductions.push_back(client_.Reduce({.sources = {source}}).value());
  EXPECT_EQ(WaitAny(reductions, 10s), 1u);
  const std::vector<Waitable> all{get, put, reduction};
  EXPECT_EQ(WaitAny(all), 1u);
  EXPECT_EQ(CodeOf(WaitAny(std::vector<Reduction>())), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hoplite::test
