// Objects written in place.
#include <cstring>
#include <optional>
#include <utility>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

class DraftTest : public AttachedTest {
 protected:
  Draft Begin(const ObjectId& id, std::uint64_t size) { return client_.Create(id, size).value(); }
};

HOPLITE_TEST_BOTH_WAYS(DraftTest);

TEST_P(DraftTest, SealedDraftIsAnObject) {
  const auto bytes = Pattern(1'000'003);
  const ObjectId id = ObjectId::Random();
  Draft draft = Begin(id, bytes.size());
  EXPECT_EQ(draft.id(), id);
  ASSERT_EQ(draft.data().size(), bytes.size());
  std::ranges::copy(bytes, draft.data().begin());
  ASSERT_TRUE(draft.Advance(500'000));
  ASSERT_TRUE(draft.Seal());
  EXPECT_TRUE(Equal(client_.Get(id), bytes));
}

TEST_P(DraftTest, ZeroBytesAreAnObjectToo) {
  const ObjectId id = ObjectId::Random();
  ASSERT_TRUE(Begin(id, 0).Seal());
  const auto view = client_.Get(id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->size(), 0u);
}

TEST_P(DraftTest, SecondSealIsRefused) {
  Draft draft = Begin(ObjectId::Random(), 10);
  ASSERT_TRUE(draft.Seal());
  EXPECT_EQ(CodeOf(draft.Seal()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(draft.Advance(10)), ErrorCode::kInvalidArgument);
  draft.Abort();  // of a sealed draft: nothing
  EXPECT_TRUE(client_.Get(draft.id(), {.timeout = 5s}));
}

TEST_P(DraftTest, PrefixOnlyGrowsAndStaysInside) {
  Draft draft = Begin(ObjectId::Random(), 100);
  EXPECT_TRUE(draft.Advance(60));
  EXPECT_EQ(CodeOf(draft.Advance(59)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(draft.Advance(101)), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(draft.Seal());
}

TEST_P(DraftTest, AbortedOrForgottenDraftsGiveTheirMemoryBack) {
  const ObjectId id = ObjectId::Random();
  Draft draft = Begin(id, 1_MiB);
  EXPECT_GE(node_.used_bytes(), 1_MiB);
  draft.Abort();
  draft.Abort();
  EXPECT_EQ(CodeOf(draft.Seal()), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
  {
    const Draft forgotten = Begin(id, 1_MiB);
  }
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
  EXPECT_EQ(CodeOf(client_.Get(id, {.timeout = 0ms})), ErrorCode::kTimeout);
}

TEST_P(DraftTest, FailureOfTheCreationIsToldEarly) {
  const ObjectId id = ObjectId::Random();
  Draft draft = Begin(id, 1000);
  ASSERT_TRUE(client_.Delete(id));
  std::uint64_t written = 0;
  EXPECT_TRUE(Eventually(
      [&] { return written < 1000 && CodeOf(draft.Advance(++written)) == ErrorCode::kDeleted; }));
  EXPECT_EQ(CodeOf(draft.Seal()), ErrorCode::kDeleted);
}

TEST_P(DraftTest, ClosedClientLosesItsDrafts) {
  Client other = Attach();
  std::optional<Draft> draft = other.Create(ObjectId::Random(), 1_MiB).value();
  other.Close();
  EXPECT_EQ(CodeOf(draft->Seal()), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
}

}  // namespace
}  // namespace hoplite::test
