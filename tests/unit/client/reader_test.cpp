// Objects read while they arrive.
#include <cstring>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBlock = 4_KiB;  // bytes count when their block is whole

class ReaderTest : public AttachedTest {
 protected:
  // Writes and announces more of the object.
  void Grow(std::uint64_t prefix) {
    std::memcpy(draft_->data().data(), bytes_.data(), prefix);
    ASSERT_TRUE(draft_->Advance(prefix));
  }

  const std::vector<std::byte> bytes_ = Pattern(10 * kBlock);
  const ObjectId id_ = ObjectId::Random();
  Client producer_ = node_.InProcess();
  std::optional<Draft> draft_ =
      producer_.Create(id_, bytes_.size(), {.metadata = "growing"}).value();
};

HOPLITE_TEST_BOTH_WAYS(ReaderTest);

TEST_P(ReaderTest, GivesThePrefixThatIsThere) {
  Reader reader = client_.Open(id_).value();
  EXPECT_EQ(reader.id(), id_);
  EXPECT_EQ(reader.size(), bytes_.size());
  EXPECT_EQ(reader.metadata(), "growing");
  EXPECT_EQ(CodeOf(reader.WaitFor(1, 10ms)), ErrorCode::kTimeout);
  Grow(3 * kBlock);
  const auto some = reader.WaitFor(1, 5s);
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 3 * kBlock);
  EXPECT_TRUE(Equal(*some, std::span(bytes_).first(3 * kBlock)));
  EXPECT_EQ(reader.WaitFor(0)->size(), 3 * kBlock);
  EXPECT_EQ(CodeOf(reader.WaitFor(bytes_.size() + 1)), ErrorCode::kInvalidArgument);
}

TEST_P(ReaderTest, TheWholeSizeIsFinalOnly) {
  Reader reader = client_.Open(id_).value();
  Grow(bytes_.size());
  EXPECT_EQ(reader.WaitFor(bytes_.size() - 1, 5s)->size(), bytes_.size());
  EXPECT_EQ(CodeOf(reader.WaitFor(bytes_.size(), 10ms)), ErrorCode::kTimeout);
  ASSERT_TRUE(draft_->Seal());
  const auto all = reader.WaitFor(bytes_.size(), 5s);
  ASSERT_TRUE(all);
  EXPECT_TRUE(Equal(*all, bytes_));
}

TEST_P(ReaderTest, FinalObjectNeedsNoWaiting) {
  Grow(bytes_.size());
  ASSERT_TRUE(draft_->Seal());
  auto open = client_.Open(id_);
  EXPECT_EQ(open->WaitFor(bytes_.size(), 0ms)->size(), bytes_.size());
}

TEST_P(ReaderTest, RecalledAndDeletedAreTold) {
  Reader first = client_.Open(id_).value();
  node_.OnLoop([&] { node_.operations().Recall(id_); });
  EXPECT_EQ(CodeOf(first.WaitFor(1, 5s)), ErrorCode::kRecalled);

  const Draft again = producer_.Create(id_, 100).value();
  Reader second = client_.Open(id_).value();
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_EQ(CodeOf(second.WaitFor(1, 5s)), ErrorCode::kDeleted);
}

TEST_P(ReaderTest, GetIntoCopiesWhileBytesArrive) {
  std::vector<std::byte> into(bytes_.size() + 5);
  std::thread producer([this] {
    for (std::uint64_t blocks = 1; blocks <= 10; ++blocks) Grow(blocks * kBlock);
    EXPECT_TRUE(draft_->Seal());
  });
  const auto size = client_.GetInto(id_, into, {.timeout = 10s});
  producer.join();
  ASSERT_TRUE(size) << size.error().ToString();
  EXPECT_EQ(*size, bytes_.size());
  EXPECT_TRUE(Equal(std::span(into).first(*size), bytes_));
}

TEST_P(ReaderTest, GetIntoNeedsRoomAndEndsAtItsDeadline) {
  std::vector<std::byte> small(10);
  const auto refused = client_.GetInto(id_, small);
  ASSERT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("40960"));
  std::vector<std::byte> into(bytes_.size());
  Grow(kBlock);
  EXPECT_EQ(CodeOf(client_.GetInto(id_, into, {.timeout = 20ms})), ErrorCode::kTimeout);
}

TEST_P(ReaderTest, GetIntoOfNothing) {
  const auto id = client_.Put("");
  EXPECT_EQ(client_.GetInto(*id, {}), 0u);
}

TEST_P(ReaderTest, GetManyIntoTakesEachAsItComes) {
  const std::vector<ObjectId> ids{id_, *client_.Put("second"), *client_.Put("")};
  std::vector<std::byte> first(bytes_.size()), second(6);
  const std::vector<std::span<std::byte>> into{first, second, {}};
  std::thread producer([this] {
    Grow(2 * kBlock);
    Grow(bytes_.size());
    EXPECT_TRUE(draft_->Seal());
  });
  const auto sizes = client_.GetManyInto(ids, into, {.timeout = 10s});
  producer.join();
  EXPECT_THAT(sizes, testing::ElementsAre(bytes_.size(), 6u, 0u));
  EXPECT_TRUE(Equal(first, bytes_));
  EXPECT_EQ(std::memcmp(second.data(), "second", 6), 0);
}

TEST_P(ReaderTest, GetManyIntoAnswersForEach) {
  const ObjectId gone = *client_.Put("gone");
  ASSERT_TRUE(client_.Delete(gone));
  const std::vector<ObjectId> ids{id_, gone, *client_.Put("larger"), *client_.Put("right")};
  std::vector<std::byte> room(bytes_.size());
  const auto small = std::span(room).first(5);
  const std::vector<std::span<std::byte>> into{room, small, small, small};
  const auto sizes = client_.GetManyInto(ids, into, {.timeout = 50ms});
  ASSERT_EQ(sizes.size(), 4u);
  EXPECT_EQ(CodeOf(sizes[0]), ErrorCode::kTimeout);
  EXPECT_EQ(CodeOf(sizes[1]), ErrorCode::kDeleted);
  EXPECT_EQ(CodeOf(sizes[2]), ErrorCode::kInvalidArgument);
  EXPECT_EQ(sizes[3], 5u);
  const auto refused = client_.GetManyInto(ids, std::span(into).first(3));
  EXPECT_EQ(refused.size(), 4u);
  for (const auto& one : refused) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().message, "there is memory for 3 objects, but 4 are asked for");
  }
  draft_.reset();
  ASSERT_TRUE(client_.Delete(ids));
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; })) << "something is pinned";
}

TEST_P(ReaderTest, ReaderPinsUntilItGoes) {
  std::optional<Reader> reader = client_.Open(id_).value();
  draft_.reset();
  ASSERT_TRUE(client_.Delete(id_));
  EXPECT_GE(node_.used_bytes(), bytes_.size());
  reader.reset();
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
}

}  // namespace
}  // namespace hoplite::test
