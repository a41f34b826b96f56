// The thread of gRPC's completion queue, and the work that it is given.
#include "directory/grpc_queue.h"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite::directory {
namespace {

constexpr int kMany = 2000;

std::unique_ptr<GrpcQueue> NewQueue() {
  return std::make_unique<GrpcQueue>(std::make_unique<grpc::CompletionQueue>());
}

// Returns when everything that was posted before has run.
void WaitFor(GrpcQueue& queue) {
  std::promise<void> done;
  queue.Post([&] { done.set_value(); });
  done.get_future().wait();
}

// It keeps what it will run.
bool Takes(GrpcQueue& queue) {
  const auto probe = std::make_shared<int>(0);
  queue.Post([probe] { ++*probe; });
  return probe.use_count() > 1;
}

TEST(GrpcQueue, RunsWhatThreadsPostOnItsOwnInTheirOrder) {
  const auto queue = NewQueue();
  queue->Start();
  std::vector<int> first;
  std::vector<int> second;
  std::vector<std::thread::id> where;
  const auto post = [&](std::vector<int>& list) {
    for (int i = 0; i < kMany; ++i) {
      queue->Post([&, i] {
        list.push_back(i);
        where.push_back(std::this_thread::get_id());
      });
    }
  };
  std::thread other([&] { post(second); });
  post(first);
  other.join();
  WaitFor(*queue);
  for (const std::vector<int>& list : {first, second}) {
    ASSERT_EQ(list.size(), kMany);
    EXPECT_TRUE(std::ranges::is_sorted(list));
  }
  EXPECT_NE(where.front(), std::this_thread::get_id());
  EXPECT_EQ(std::ranges::count(where, where.front()), 2 * kMany);
}

TEST(GrpcQueue, WakesForWorkEachTimeThatItSleeps) {
  const auto queue = NewQueue();
  queue->Start();
  int ran = 0;
  for (int i = 0; i < kMany; ++i) {
    queue->Post([&] { ++ran; });
    WaitFor(*queue);
  }
  EXPECT_EQ(ran, kMany);
}

TEST(GrpcQueue, WorkThatPostsMoreGoesOnWithoutAnybodyElse) {
  const auto queue = NewQueue();
  queue->Start();
  std::promise<void> done;
  int left = kMany;
  std::function<void()> step = [&] {
    if (--left > 0) return queue->Post(step);
    done.set_value();
  };
  queue->Post(step);
  done.get_future().wait();
  EXPECT_EQ(left, 0);
}

TEST(GrpcQueue, RunsNothingAfterItStopped) {
  const auto queue = NewQueue();
  queue->Start();
  WaitFor(*queue);
  queue->Stop();
  const auto kept = std::make_shared<int>(0);
  queue->Post([kept] { ++*kept; });
  EXPECT_EQ(kept.use_count(), 1);
  queue->Stop();
  EXPECT_EQ(*kept, 0);
}

// A service's parts wait for it in what it was told last: nobody else lets go of them.
TEST(GrpcQueue, RunsAllThatWasPostedBeforeItStopped) {
  const auto queue = NewQueue();
  queue->Start();
  const auto kept = std::make_shared<int>(0);
  std::promise<void> runs;
  queue->Post([&] {
    queue->Post([kept] { ++*kept; });
    runs.set_value();
    while (Takes(*queue)) std::this_thread::yield();  // until Stop refuses it
  });
  runs.get_future().wait();
  queue->Stop();
  EXPECT_EQ(*kept, 1);
}

TEST(GrpcQueue, OneThatNeverStartedRunsWhatWasPostedWhenItStops) {
  const auto queue = NewQueue();
  const auto kept = std::make_shared<int>(0);
  queue->Post([kept] { ++*kept; });
  queue->Stop();
  EXPECT_EQ(*kept, 1);
}

}  // namespace
}  // namespace hoplite::directory
