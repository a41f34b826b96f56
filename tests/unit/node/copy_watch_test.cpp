// When a call that waits for bytes of a copy is woken.
#include "node/local/copy_watch.h"

#include <memory>
#include <vector>

#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/units.h"
#include "testing/run_task.h"

namespace hoplite::test {
namespace {

using node::Call;
using node::CopyWatch;

// A copy of 16 blocks in two stripes: one block after the other is of the other stripe.
class CopyWatchTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBlock = 16_KiB;

  // Since the last look.
  bool Woken() { return RunTask(loop_, call_.changed.Wait(Now())); }

  asio::io_context loop_{1};
  Call call_{loop_};
  std::vector<std::byte> memory_{16 * kBlock};
  const store::CopyPtr copy_ = std::make_shared<store::Copy>(
      ObjectId::FromName("x"),
      Layout{
          .size_bytes = 16 * kBlock, .block_bytes = kBlock, .run_bytes = kBlock, .stripe_count = 2},
      "", memory_, 0, nullptr);
};

TEST_F(CopyWatchTest, WhoWaitsForAllIsWokenAtTheEnd) {
  const CopyWatch watch(copy_, 16 * kBlock, call_);
  for (std::uint32_t mark = 1; mark <= 8; ++mark) {
    copy_->Advance(0, mark);
    copy_->Advance(1, mark);
    EXPECT_FALSE(Woken()) << mark;
  }
  ASSERT_TRUE(copy_->Seal());
  EXPECT_TRUE(Woken());
}

TEST_F(CopyWatchTest, WhoWaitsForSomeIsWokenWhenTheyMayBeThere) {
  const CopyWatch watch(copy_, 3 * kBlock + 1, call_);  // of blocks 0 to 3
  copy_->Advance(0, 2);
  copy_->Advance(1, 1);
  EXPECT_FALSE(Woken());
  copy_->Advance(1, 2);
  EXPECT_TRUE(Woken());
}

TEST_F(CopyWatchTest, TheLastBlockMayComeBeforeOthers) {
  const CopyWatch watch(copy_, 4 * kBlock, call_);
  copy_->Advance(1, 2);
  EXPECT_TRUE(Woken());
  copy_->Advance(0, 2);
  EXPECT_TRUE(Woken());
}

TEST_F(CopyWatchTest, OfAVoidCopyEveryoneIsTold) {
  const CopyWatch watch(copy_, 16 * kBlock, call_);
  ASSERT_TRUE(copy_->Void(store::VoidReason::kDeleted));
  EXPECT_TRUE(Woken());
}

}  // namespace
}  // namespace hoplite::test
