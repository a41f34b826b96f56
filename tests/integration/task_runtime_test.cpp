// The task runtime of examples/task_runtime: tasks that make tasks, errors as results, and workers
// that are killed.
#include <chrono>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "task_runtime/runtime.h"
#include "testing/eventually.h"

namespace tasks {
namespace {

using hoplite::Error;
using hoplite::ErrorCode;
using hoplite::Result;
using hoplite::test::Eventually;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kPatience = 30s;
constexpr std::size_t kLargeBytes = 1 << 20;  // the directory keeps no object of this size

std::string_view View(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<void> ReturnText(Call& call, const std::string& text) {
  return call.Return(std::as_bytes(std::span(text)));
}

// The numbers from 1 to that of the text, added up by one task for each pair.
Result<void> SumTo(Call& call) {
  const int last = std::stoi(call.text());
  if (last <= 1) return ReturnText(call, call.text());
  const auto before = call.Submit({.function = "sum_to", .text = std::to_string(last - 1)});
  return call.Become({.function = "add", .text = call.text(), .arguments = {before}});
}

Result<void> Add(Call& call) {
  const int sum = std::stoi(std::string(View(call.argument(0)))) + std::stoi(call.text());
  return ReturnText(call, std::to_string(sum));
}

Result<void> Fail(Call& call) {
  return std::unexpected(Error(ErrorCode::kInvalidArgument, "no " + call.text()));
}

Result<void> SayNothing(Call&) { return {}; }

// Who ran it; of any arguments.
Result<void> OwnPid(Call& call) { return ReturnText(call, std::to_string(::getpid())); }

// The same, many times over.
Result<void> LargeOwnPid(Call& call) {
  const std::string pid = std::to_string(::getpid()) + ' ';
  std::string all;
  while (all.size() < kLargeBytes) all += pid;
  return ReturnText(call, all);
}

// The first number of its argument, and that of its own process.
Result<void> WhoAndWho(Call& call) {
  const std::string_view all = View(call.argument(0));
  return ReturnText(call,
                    std::string(all.substr(0, all.find(' '))) + '/' + std::to_string(::getpid()));
}

const Functions kFunctions{
    {"sum_to", SumTo},           {"add", Add},        {"fail", Fail},
    {"say_nothing", SayNothing}, {"own_pid", OwnPid}, {"large_own_pid", LargeOwnPid},
    {"who_and_who", WhoAndWho}};

class TaskRuntimeTest : public testing::Test {
 protected:
  void Start(std::size_t workers) {
    auto runtime = Runtime::Start(workers);
    ASSERT_TRUE(runtime) << runtime.error().ToString();
    runtime_ = *std::move(runtime);
  }

  Future Submit(const std::string& function, const std::string& text = "",
                const std::vector<Future>& arguments = {}) {
    const Future result = runtime_->Name();
    runtime_->Submit(result, {function, text}, arguments);
    return result;
  }

  // The result, or the error.
  std::string Get(const Future& future) {
    const auto got = runtime_->Get(future, kPatience);
    return got ? std::string(got->view()) : got.error().ToString();
  }

  bool IsThere(const Future& future, std::chrono::milliseconds timeout = kPatience) {
    const auto there = runtime_->client().WaitExists({{future->id}}, 1, {.timeout = timeout});
    return there && there->size() == 1;
  }

  bool KillSoon(const Future& result) {
    return Eventually([&] { return runtime_->KillWorkerOf(result); }, kPatience);
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST_F(TaskRuntimeTest, ATaskMakesOthersAndBecomesOne) {
  Start(2);
  EXPECT_EQ(Get(Submit("sum_to", "40")), "820");
}

TEST_F(TaskRuntimeTest, ATaskWaitsForItsArguments) {
  Start(1);
  const Future late = runtime_->Name();
  const Future sum = Submit("add", "2", {late});
  const std::string one = "1";
  ASSERT_TRUE(runtime_->Put(late, std::as_bytes(std::span(one))));
  EXPECT_EQ(Get(Submit("add", "3", {sum})), "6");
}

TEST_F(TaskRuntimeTest, AnErrorIsTheResultAlsoOfThoseWhoNeedIt) {
  Start(2);
  const Future failed = Submit("fail", "luck");
  EXPECT_THAT(Get(failed), HasSubstr("no luck"));
  EXPECT_THAT(Get(Submit("add", "1", {failed})), HasSubstr("no luck"));
  const auto sum = runtime_->client().Reduce({.sources = {failed->id}});
  const auto outcome = sum->Wait(kPatience);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message,
              HasSubstr(failed->id.ToHex() + ", a source, failed: no luck"));
  EXPECT_THAT(Get(Submit("nonsense")), HasSubstr("no function 'nonsense'"));
  EXPECT_THAT(Get(Submit("say_nothing")), HasSubstr("'say_nothing' gave no answer"));
}

TEST_F(TaskRuntimeTest, TheLastFutureDeletesTheObject) {
  Start(1);
  Future pid = Submit("own_pid");
  const hoplite::ObjectId id = pid->id;
  ASSERT_TRUE(IsThere(pid));
  pid.reset();
  EXPECT_TRUE(Eventually(
      [&] {
        const auto got = runtime_->client().Get(id, {.timeout = kPatience});
        return !got && got.error().code == ErrorCode::kDeleted;
      },
      kPatience));
}

TEST_F(TaskRuntimeTest, TheTaskOfAKilledWorkerRunsOnAnother) {
  Start(1);
  const std::string first = Get(Submit("own_pid"));
  const Future gate = runtime_->Name();
  const Future second = Submit("own_pid", "", {gate});  // waits in the worker
  ASSERT_TRUE(KillSoon(second));
  ASSERT_TRUE(runtime_->Put(gate, {}));
  EXPECT_NE(Get(second), first);
}

// The next task could read what the last one read; but both are lost with the one worker.
TEST_F(TaskRuntimeTest, ResultsThatDiedWithTheirWorkerAreMadeAgain) {
  Start(1);
  const std::string first = Get(Submit("own_pid"));
  const Future large = Submit("large_own_pid");
  const Future larger = Submit("large_own_pid", "", {large});
  ASSERT_TRUE(IsThere(larger));
  ASSERT_TRUE(runtime_->KillWorkerOf(larger));
  const std::string who = Get(Submit("who_and_who", "", {larger}));
  const std::string second = who.substr(0, who.find('/'));
  EXPECT_EQ(who, second + '/' + second);
  EXPECT_NE(second, first);
}

// Of what somebody else has, too, nothing is computed anew that anybody sees.
TEST_F(TaskRuntimeTest, AResultWithAnotherCopyStaysAsItIs) {
  Start(1);
  const Future large = Submit("large_own_pid");
  const std::string before = Get(large);
  ASSERT_TRUE(runtime_->KillWorkerOf(large));
  const std::string who = Get(Submit("who_and_who", "", {large}));
  EXPECT_EQ(who.substr(0, who.find('/')), before.substr(0, before.find(' ')));
  EXPECT_EQ(Get(large), before);
}

}  // namespace
}  // namespace tasks

int main(int argc, char** argv) {
  if (const auto status = tasks::RunIfWorker(argc, argv, tasks::kFunctions)) return *status;
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
