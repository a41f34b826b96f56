#include "store/reserver.h"

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "store/object_store.h"

namespace hoplite::store {
namespace {

using ::testing::HasSubstr;

// Plain memory of 4 MiB, the first of which is reserved; another one whenever the test lets it, until
// there are `there`.
class SlowSegment : public SharedSegment {
 public:
  explicit SlowSegment(std::uint64_t there) : there_(there) {}

  void Let(std::ptrdiff_t pieces) { allowed_.release(pieces); }

  std::span<std::byte> bytes() override { return memory_->bytes(); }
  int descriptor() const override { return -1; }
  int read_only_descriptor() const override { return -1; }
  std::uint64_t reserved_bytes() const override { return reserved_; }
  Result<void> ReserveMore() override {
    allowed_.acquire();
    if (reserved_ == there_) {
      return std::unexpected(Error(ErrorCode::kResourceExhausted, "no more is there"));
    }
    reserved_ += 1_MiB;
    return {};
  }

 private:
  const std::uint64_t there_;
  const std::unique_ptr<SharedSegment> memory_ = CreateHeapSegment(4_MiB);
  std::counting_semaphore<> allowed_{0};
  std::atomic<std::uint64_t> reserved_{1_MiB};
};

class ReserverTest : public ::testing::Test {
 protected:
  explicit ReserverTest(std::uint64_t there = 4_MiB)
      : segment_(std::make_shared<SlowSegment>(there)) {}
  // So that what reserves can end.
  ~ReserverTest() override { segment_->Let(100); }

  Result<CopyPtr> Create(const std::string& name, std::uint64_t bytes) {
    return store_.Create(ObjectId::FromName(name), Layout::For(bytes), "", CopyKind::kPrimary);
  }
  // Returns when that much is left to reserve.
  void LetUntil(std::ptrdiff_t pieces, std::uint64_t left) {
    segment_->Let(pieces);
    while (store_.usage().not_yet_reserved_bytes != left) told_.acquire();
  }

  const std::shared_ptr<SlowSegment> segment_;
  std::counting_semaphore<> told_{0};
  ObjectStore store_{segment_, [this] { told_.release(); }};
};

TEST_F(ReserverTest, NothingLiesWhereNoMemoryIsReservedYet) {
  EXPECT_EQ(store_.usage().capacity_bytes, 4_MiB);
  EXPECT_EQ(store_.usage().free_bytes, 1_MiB);
  EXPECT_TRUE(store_.FitsEver(3_MiB));
  const auto early = Create("a", 3_MiB);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(early.error().message, HasSubstr("(3.0 MiB) are not reserved yet"));
  const auto small = Create("b", 1_MiB);
  ASSERT_TRUE(small);
  EXPECT_EQ((*small)->segment_offset(), 0u);
  EXPECT_EQ(store_.usage().InWords(),
            "1048576 of 4194304 bytes are in use, and 3145728 are not reserved yet");
}

TEST_F(ReserverTest, WhoWaitsForRoomHearsOfEachPiece) {
  LetUntil(1, 2_MiB);
  EXPECT_FALSE(Create("a", 3_MiB));
  LetUntil(1, 1_MiB);
  EXPECT_TRUE(Create("a", 3_MiB));
  LetUntil(1, 0);
  EXPECT_EQ(store_.usage().free_bytes, 1_MiB);
}

class ScarceReserverTest : public ReserverTest {
 protected:
  ScarceReserverTest() : ReserverTest(2_MiB) {}
};

// The node goes on with what there is, and whoever wants more is told so rather than waits.
TEST_F(ScarceReserverTest, WhereNoMoreCanBeHadTheStoreIsSmaller) {
  LetUntil(2, 0);
  EXPECT_EQ(store_.usage().capacity_bytes, 2_MiB);
  EXPECT_FALSE(store_.FitsEver(3_MiB));
  const auto refused = Create("a", 3_MiB);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("larger than the whole store of 2097152 bytes"));
  EXPECT_TRUE(Create("b", 2_MiB));
}

// There is always a piece more.
class EndlessSegment final : public SlowSegment {
 public:
  EndlessSegment() : SlowSegment(4_MiB) {}
  Result<void> ReserveMore() override { return {}; }
};

TEST(Reserver, EndsBetweenTwoPieces) {
  EndlessSegment segment;
  std::counting_semaphore<> told{0};
  const Reserver reserver(segment, [&](std::uint64_t, bool) { told.release(); });
  told.acquire();
}

}  // namespace
}  // namespace hoplite::store
