// What follows an answer: Then, WhenAll, OnReady with the answer and by an executor, co_await.
#include <atomic>
#include <chrono>
#include <coroutine>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>
#include <hoplite/coroutine.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"
#include "testing/eventually.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

// Runs its tasks on the thread that asks it to.
class Tasks {
 public:
  auto Executor() {
    return [this](std::function<void()> task) {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    };
  }
  // Waits for one.
  void RunOne() {
    std::function<void()> task;
    ASSERT_TRUE(Eventually([&] { return Take(task); }));
    task();
  }

 private:
  bool Take(std::function<void()>& task) {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
    return true;
  }
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
};

class ThenTest : public AttachedTest {
 protected:
  const ObjectId id_ = ObjectId::Random();
  const ObjectId other_ = ObjectId::Random();
  Client putter_ = Attach();

  void Put(const ObjectId& id, const char* text) { ASSERT_TRUE(putter_.Put(text, {.id = id})); }
};

HOPLITE_TEST_BOTH_WAYS(ThenTest);

TEST_P(ThenTest, GivesAFutureOfWhatItMakesOfTheAnswer) {
  const auto size = client_.GetAsync(id_)
                        .Then([](const Result<Buffer>& got) { return got.value().size(); })
                        .Then([](Result<std::uint64_t> bytes) { return *bytes * 2; });
  EXPECT_EQ(size.Wait(0ms).error().code, ErrorCode::kTimeout);
  Put(id_, "four");
  EXPECT_EQ(size.Wait(10s), 8U);
  EXPECT_EQ(size.Wait(), 8U) << "each time it is asked for";
}

TEST_P(ThenTest, ErrorsAndNothingAreOutcomesToo) {
  auto refused =
      client_.GetAsync(id_, {.timeout = 0ms}).Then([](const Result<Buffer>& got) -> Result<int> {
        return Unexpected(got.error());
      });
  EXPECT_EQ(CodeOf(refused.Wait(10s)), ErrorCode::kTimeout);
  bool ran = false;
  auto done = client_.GetAsync(id_, {.timeout = 0ms}).Then([&ran](Result<Buffer>) { ran = true; });
  EXPECT_TRUE(done.Wait(10s));
  EXPECT_TRUE(ran);
}

TEST_P(ThenTest, CancelGivesTheRequestUp) {
  auto size = client_.GetAsync(id_).Then([](const Result<Buffer>& got) { return got.has_value(); });
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  size.Cancel();
  EXPECT_EQ(CodeOf(size.Wait(10s)), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
}

TEST_P(ThenTest, OnceItIsDestroyedNothingIsCalled) {
  std::atomic<int> calls{0};
  {
    const auto size =
        client_.GetAsync(id_).Then([&calls](const Result<Buffer>&) { return ++calls; });
    EXPECT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  }
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
  Put(id_, "here");
  EXPECT_TRUE(client_.Get(id_));
  EXPECT_EQ(calls, 0);
}

TEST_P(ThenTest, WhatItCallsMayDestroyIt) {
  std::optional<Future<int>> kept;
  std::atomic<bool> called{false};
  kept = client_.GetAsync(id_).Then([&](const Result<Buffer>&) {
    kept.reset();
    called = true;
    return 1;
  });
  Put(id_, "here");
  EXPECT_TRUE(Eventually([&] { return called.load(); }));
  EXPECT_TRUE(client_.Status());  // that thread lives
}

TEST_P(ThenTest, AnExecutorRunsItElsewhere) {
  Tasks tasks;
  std::thread::id where;
  const auto text = client_.GetAsync(id_).Then(tasks.Executor(), [&](const Result<Buffer>&) {
    where = std::this_thread::get_id();
    return Text(client_.Get(other_));  // it may wait
  });
  Put(id_, "here");
  Put(other_, "there");
  tasks.RunOne();
  EXPECT_EQ(text.Wait(10s), "there");
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_P(ThenTest, AnExecutorsTaskOfWhatIsGoneDoesNothing) {
  Tasks tasks;
  bool called = false;
  {
    const auto done =
        client_.GetAsync(id_).Then(tasks.Executor(), [&](const Result<Buffer>&) { called = true; });
    Put(id_, "here");
    EXPECT_TRUE(Eventually([&] { return client_.Get(id_).has_value(); }));
    std::this_thread::yield();
  }
  EXPECT_TRUE(client_.Status());
  EXPECT_FALSE(called);
}

TEST_P(ThenTest, OnReadyGivesTheAnswer) {
  const auto future = client_.GetAsync(id_);
  std::promise<std::string> seen;
  future.OnReady([&](const Result<Buffer>& got) { seen.set_value(Text(got)); });
  Tasks tasks;
  std::string elsewhere;
  future.OnReady(tasks.Executor(), [&](const Result<Buffer>& got) { elsewhere = Text(got); });
  int bare = 0;
  future.OnReady(tasks.Executor(), [&bare] { ++bare; });
  Put(id_, "here");
  EXPECT_EQ(seen.get_future().get(), "here");
  tasks.RunOne();
  tasks.RunOne();
  EXPECT_EQ(elsewhere, "here");
  EXPECT_EQ(bare, 1);
}

TEST_P(ThenTest, OnReadyTakesWhatCanOnlyBeMoved) {
  const auto future = client_.GetAsync(id_);
  std::promise<int> seen;
  future.OnReady([&seen, one = std::make_unique<int>(1)] { seen.set_value(*one); });
  Put(id_, "here");
  EXPECT_EQ(seen.get_future().get(), 1);
}

TEST_P(ThenTest, WhenAllGivesAllInOrder) {
  Client other = Attach();
  std::vector<Future<Buffer>> gets;
  gets.push_back(client_.GetAsync(id_));
  gets.push_back(other.GetAsync(other_));
  gets.push_back(client_.GetAsync(ObjectId::Random(), {.timeout = 0ms}));
  gets.emplace_back();
  const auto all = WhenAll(std::move(gets));
  Put(other_, "second");
  EXPECT_FALSE(all.ready());
  Put(id_, "first");
  const auto answers = all.Wait(10s);
  ASSERT_TRUE(answers) << answers.error();
  ASSERT_EQ(answers->size(), 4U);
  EXPECT_EQ(Text((*answers)[0]), "first");
  EXPECT_EQ(Text((*answers)[1]), "second");
  EXPECT_EQ(CodeOf((*answers)[2]), ErrorCode::kTimeout);
  EXPECT_EQ(CodeOf((*answers)[3]), ErrorCode::kInvalidArgument);
  EXPECT_EQ(WhenAll(std::vector<Future<Buffer>>()).Wait(0ms).value().size(), 0U);
}

TEST_P(ThenTest, WhenAllOfSeveralKindsAndItsCancel) {
  auto both = WhenAll(client_.GetAsync(id_), putter_.PutAsync(std::string("put"), {.id = other_}));
  Put(id_, "got");
  const auto answers = both.Wait(10s);
  ASSERT_TRUE(answers) << answers.error();
  EXPECT_EQ(Text(std::get<0>(*answers)), "got");
  EXPECT_EQ(std::get<1>(*answers), other_);
  auto never = WhenAll(client_.GetAsync(ObjectId::Random()), client_.GetAsync(ObjectId::Random()));
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 2; }));
  never.Cancel();
  EXPECT_EQ(CodeOf(never.Wait(10s)), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
}

// A coroutine that begins at once, and tells nobody when it ends.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached Sum(Client client, ObjectId a, ObjectId b, std::promise<std::string>& told) {
  auto first = client.GetAsync(a);
  const Result<Buffer> of_variable = co_await first;
  const Result<Buffer> of_temporary = co_await client.GetAsync(b);
  told.set_value(Text(of_variable) + Text(of_temporary));
}

TEST_P(ThenTest, CoAwait) {
  std::promise<std::string> told;
  Sum(client_, id_, other_, told);
  Put(id_, "one ");
  Put(other_, "two");
  EXPECT_EQ(told.get_future().get(), "one two");
}

Detached Wait(Client client, ObjectId a, ObjectId b, Tasks& tasks, std::string& told) {
  const Result<Buffer> got = co_await On(tasks.Executor(), client.GetAsync(a));
  told = Text(got) + Text(client.Get(b));  // it may wait here
}

TEST_P(ThenTest, CoAwaitOnAnExecutor) {
  Tasks tasks;
  std::string told;
  Wait(client_, id_, other_, tasks, told);
  Put(id_, "one ");
  Put(other_, "two");
  tasks.RunOne();
  EXPECT_EQ(told, "one two");
}

}  // namespace
}  // namespace hoplite::test
