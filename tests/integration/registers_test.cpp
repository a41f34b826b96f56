// Registers over real nodes: one of many wins, everybody has the newest, a writer that goes is missed.
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/bytes.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using test::CodeOf;
using testing::Cluster;
using ::testing::HasSubstr;
using testing::kSoon;
using namespace std::chrono_literals;

const CompareAndSetOptions kClaim{.writer = true, .timeout = 60s};
const CompareAndSetOptions kPlain{.timeout = 60s};
const ChangedOptions kSoonLater{.timeout = 60s};

class RegistersTest : public ::testing::Test {
 protected:
  void Begin(std::size_t nodes, directory::InProcessDirectory::Options directory =
                                    directory::InProcessDirectory::Patient()) {
    cluster_.emplace(testing::ClusterOptions{.nodes = nodes, .directory = std::move(directory)});
  }
  Register Open(std::size_t node) { return *cluster_->client(node).OpenRegister("it", kSoon); }

  std::optional<Cluster> cluster_;
};

TEST_F(RegistersTest, HoldsWhatWasWrittenLast) {
  Begin(2);
  const Register first = Open(0);
  const Register second = Open(1);
  EXPECT_FALSE(first.Get(kSoon)->number);
  const auto written = first.CompareAndSet({}, "a", kPlain);
  ASSERT_TRUE(written && written->written);
  EXPECT_EQ(second.Get(kSoon)->value, "a");
  const auto refused = second.CompareAndSet({}, "b", kPlain);
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->written);
  EXPECT_EQ(refused->entry.number, written->entry.number);
  EXPECT_EQ(refused->entry.value, "a");
  const auto next = second.CompareAndSet(refused->entry.number, "c", kPlain);
  ASSERT_TRUE(next && next->written);
  EXPECT_GT(next->entry.number, written->entry.number);
  EXPECT_EQ(first.Changed(written->entry.number, kSoonLater)->value, "c");
}

TEST_F(RegistersTest, CountWhatAllAddWithoutALock) {
  Begin(2);
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const Register counter = Open(i % 2);
      RegisterEntry known;
      for (int added = 0; added < kEach;) {
        const int sum = known.value.empty() ? 0 : std::stoi(known.value);
        const auto write = counter.CompareAndSet(known.number, std::to_string(sum + 1), kPlain);
        ASSERT_TRUE(write) << write.error().message;
        known = write->entry;
        added += write->written ? 1 : 0;
      }
      // It is forgotten with the last that has it open.
      while (known.value != std::to_string(4 * kEach))
        known = *counter.Changed(known.number, kSoonLater);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RegistersTest, OneOfManyIsTheWriter) {
  Begin(3);
  std::atomic<int> winners = 0;
  std::vector<Register> opened;
  for (std::size_t i = 0; i < 6; ++i) opened.push_back(Open(i % 3));
  std::vector<std::thread> threads;
  for (const Register& candidate : opened) {
    threads.emplace_back([&winners, &candidate] {
      if (candidate.CompareAndSet({}, "me", kClaim)->written) ++winners;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
  EXPECT_TRUE(opened[0].Get(kSoon)->has_writer);
}

TEST_F(RegistersTest, ATakeOverFencesTheWriterBefore) {
  Begin(2);
  const Register before = Open(0);
  const auto first = before.CompareAndSet({}, "a", kClaim);
  ASSERT_TRUE(first->written);
  const Register after = Open(1);
  const auto second = after.CompareAndSet(first->entry.number, "b", kClaim);
  ASSERT_TRUE(second->written);
  EXPECT_FALSE(before.CompareAndSet(first->entry.number, "a2", kPlain)->written);
  EXPECT_EQ(after.Get(kSoon)->number, second->entry.number);
  EXPECT_TRUE(after.Get(kSoon)->has_writer);
}

TEST_F(RegistersTest, WhoWaitsHearsThatTheWriterIsGone) {
  Begin(2);
  const Register reader = Open(1);
  std::optional<Client> owner = cluster_->client(0);
  std::optional<Register> writer = *owner->OpenRegister("it", kSoon);
  const auto written = writer->CompareAndSet({}, "a", kClaim);
  // The shard knows that it is open there: without anybody a register ends.
  EXPECT_EQ(reader.Get(kSoon)->number, written->entry.number);
  auto changed = reader.ChangedAsync(written->entry.number, kSoonLater);
  EXPECT_EQ(CodeOf(changed.Wait(50ms)), ErrorCode::kTimeout);
  owner->Close();
  const auto gone = changed.Wait();
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_FALSE(gone->has_writer);
  EXPECT_EQ(gone->number, written->entry.number);
  auto later = reader.ChangedAsync(written->entry.number, {.only_later = true, .timeout = 60s});
  EXPECT_EQ(CodeOf(later.Wait(50ms)), ErrorCode::kTimeout) << "another may come";
  EXPECT_EQ(CodeOf(writer->Get(kSoon)), ErrorCode::kCancelled);
  ASSERT_TRUE(reader.CompareAndSet(gone->number, "b", kClaim)->written);
  EXPECT_EQ(later.Wait()->value, "b");
}

TEST_F(RegistersTest, ACloseEndsWhatWaits) {
  Begin(1);
  std::optional<Register> opened = Open(0);
  auto changed = opened->ChangedAsync({}, kSoonLater);
  EXPECT_EQ(CodeOf(changed.Wait(50ms)), ErrorCode::kTimeout);
  opened.reset();
  EXPECT_EQ(CodeOf(changed.Wait()), ErrorCode::kCancelled);
}

TEST_F(RegistersTest, WhoWaitsHearsThatTheWritersNodeIsLost) {
  directory::InProcessDirectory::Options options;
  options.service.heartbeat = 100ms;
  options.service.lease = 2s;
  options.service.grace = 500ms;
  Begin(2, std::move(options));
  const Register reader = Open(1);
  Register writer = Open(0);
  const auto written = writer.CompareAndSet({}, "a", kClaim);
  ASSERT_TRUE(written && written->written);
  cluster_->Stop(0);
  const auto gone = reader.Changed(written->entry.number, kSoonLater);
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_FALSE(gone->has_writer);
}

TEST_F(RegistersTest, OutlivesTheShard) {
  directory::InProcessDirectory::Options options;
  options.service.lease = 2s;
  options.service.grace = 500ms;
  options.service.planner.recovery_window = 100ms;
  Begin(2, std::move(options));
  const Register writer = Open(0);
  const Register reader = Open(1);
  const auto written = writer.CompareAndSet({}, "a", kClaim);
  ASSERT_TRUE(written && written->written);
  auto changed = reader.ChangedAsync(written->entry.number, kSoonLater);
  cluster_->directory().Restart(0);
  const auto again = writer.CompareAndSet(written->entry.number, "b", kPlain);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->written);
  EXPECT_GT(again->entry.number, written->entry.number);
  const auto heard = changed.Wait();
  ASSERT_TRUE(heard) << heard.error().message;
  EXPECT_EQ(heard->value, "b");
  EXPECT_TRUE(heard->has_writer);
}

TEST_F(RegistersTest, IsForgottenWithTheLast) {
  Begin(2);
  {
    const Register opened = Open(0);
    ASSERT_TRUE(opened.CompareAndSet({}, "a", kPlain)->written);
  }
  EXPECT_TRUE(testing::Eventually([&] {
    const Register again = Open(1);
    return !again.Get(kSoon)->number;
  }));
}

TEST_F(RegistersTest, ADeadlineSaysWhatIsMissing) {
  Begin(1);
  const Register opened = Open(0);
  const auto never = opened.Changed({}, {.timeout = 50ms});
  ASSERT_EQ(CodeOf(never), ErrorCode::kTimeout);
  EXPECT_THAT(never.error().message, HasSubstr("register \"it\": nobody wrote it"));
  auto cancelled = opened.ChangedAsync({}, kSoonLater);
  cancelled.Cancel();
  EXPECT_EQ(CodeOf(cancelled.Wait()), ErrorCode::kCancelled);
  const auto stopped = cluster_->StopDirectory();
  const auto silent = opened.Get({.timeout = 50ms});
  ASSERT_EQ(CodeOf(silent), ErrorCode::kTimeout);
  EXPECT_THAT(silent.error().message, HasSubstr("its shard did not answer"));
}

TEST_F(RegistersTest, BadInputIsNamed) {
  Begin(1);
  Client client = cluster_->client(0);
  EXPECT_EQ(CodeOf(client.OpenRegister("", kSoon)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client.OpenRegister(std::string(257, 'n'), kSoon)), ErrorCode::kInvalidArgument);
  const Register opened = Open(0);
  const auto large = opened.CompareAndSet({}, std::string(kMaxRegisterBytes + 1, 'v'), kPlain);
  ASSERT_EQ(CodeOf(large), ErrorCode::kInvalidArgument);
  EXPECT_THAT(large.error().message, HasSubstr("1025"));
  EXPECT_TRUE(opened.CompareAndSet({}, std::string(kMaxRegisterBytes, 'v'), kPlain)->written);
}

}  // namespace
}  // namespace hoplite
