// PutAsync, and puts of several pieces, over both ways of attaching.
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;
using Pieces = std::vector<std::span<const std::byte>>;

class PutAsyncTest : public AttachedTest {};

HOPLITE_TEST_BOTH_WAYS(PutAsyncTest);

TEST_P(PutAsyncTest, GivesTheIdWhenEveryNodeCanGetIt) {
  for (const std::size_t size : {0uz, 1uz, 64 * 1024uz, 64 * 1024uz + 1, 20'000'001uz}) {
    const auto bytes = Pattern(size);
    const ObjectId id = ObjectId::Random();
    const auto put = client_.PutAsync(bytes, {.id = id, .metadata = "m"});
    const auto done = put.Wait(20s);
    ASSERT_TRUE(done) << done.error().ToString();
    EXPECT_EQ(*done, id);
    const auto view = Attach().Get(id, {.timeout = 0ms});
    ASSERT_TRUE(view) << size;
    EXPECT_TRUE(Equal(view->bytes(), bytes));
    EXPECT_EQ(view->metadata(), "m");
  }
}

TEST_P(PutAsyncTest, ManyAtOnce) {
  const auto bytes = Pattern(1_MiB);
  std::atomic<int> called{0};
  std::vector<Future<ObjectId>> puts;
  for (int i = 0; i < 40; ++i) {
    puts.push_back(client_.PutAsync(std::span(bytes).first(bytes.size() - i)));
    puts.back().OnReady([&] { ++called; });
  }
  for (std::size_t i = 0; i < puts.size(); ++i) {
    const auto id = puts[i].Wait(20s);
    ASSERT_TRUE(id) << id.error().ToString();
    EXPECT_TRUE(Equal(client_.Get(*id), std::span(bytes).first(bytes.size() - i)));
  }
  EXPECT_TRUE(Eventually([&] { return called == 40; }));
}

TEST_P(PutAsyncTest, ErrorsAreThoseOfPut) {
  const ObjectId taken = ObjectId::FromName("taken");
  ASSERT_TRUE(client_.Put("first", {.id = taken}));
  const auto large = Pattern(1_MiB);
  EXPECT_EQ(CodeOf(client_.PutAsync(large, {.id = taken}).Wait(20s)), ErrorCode::kAlreadyExists);
  EXPECT_EQ(CodeOf(client_.PutAsync(std::span(large).first(10), {.id = taken}).Wait(20s)),
            ErrorCode::kAlreadyExists);
  const std::vector<std::byte> huge(80_MiB);
  EXPECT_EQ(CodeOf(client_.PutAsync(huge).Wait(20s)), ErrorCode::kResourceExhausted);
  const std::string metadata(4097, 'm');
  EXPECT_EQ(CodeOf(client_.PutAsync(large, {.metadata = metadata}).Wait(20s)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(Text(client_.Get(taken)), "first");
}

// At whatever moment it is cancelled: nothing reads the bytes afterwards, nothing is left behind.
TEST_P(PutAsyncTest, CancelledOrForgottenItLetsTheBytesGo) {
  const auto pattern = Pattern(16_MiB);
  for (int i = 0; i < 60; ++i) {
    std::optional<std::vector<std::byte>> bytes = pattern;
    std::optional<Future<ObjectId>> put = client_.PutAsync(*bytes);
    std::this_thread::sleep_for(std::chrono::microseconds(i * 100));
    if (i % 2 == 0) {
      put->Cancel();
      EXPECT_TRUE(put->ready());
    } else {
      put.reset();
    }
    std::memset(bytes->data(), 0, bytes->size());
    bytes.reset();
    if (put && !put->Wait()) {
      EXPECT_EQ(CodeOf(put->Wait()), ErrorCode::kCancelled);
    }
    for (const auto& info : client_.Status()->objects) ASSERT_TRUE(client_.Delete(info.id));
  }
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
}

TEST_P(PutAsyncTest, CloseAndTheNodesEndAreItsEndToo) {
  const auto bytes = Pattern(16_MiB);
  Client other = Attach();
  const auto closed = other.PutAsync(bytes);
  other.Close();
  if (const auto done = closed.Wait(20s); !done) {
    EXPECT_EQ(done.error().code, ErrorCode::kCancelled) << done.error().ToString();
  }
  EXPECT_EQ(CodeOf(other.PutAsync(bytes).Wait(20s)), ErrorCode::kCancelled);
  const auto lost = client_.PutAsync(bytes);
  node_.Stop();
  if (const auto done = lost.Wait(20s); !done) {
    EXPECT_EQ(done.error().code, ErrorCode::kUnavailable) << done.error().ToString();
  }
  EXPECT_EQ(CodeOf(client_.PutAsync(bytes).Wait(20s)), ErrorCode::kUnavailable);
}

TEST_P(PutAsyncTest, PiecesBecomeOneObject) {
  for (const std::size_t size : {0uz, 100uz, 3'000'000uz}) {
    const auto whole = Pattern(size);
    const std::span<const std::byte> all(whole);
    const Pieces pieces{
        all.first(size / 3), {}, all.subspan(size / 3, size / 2), all.subspan(size / 3 + size / 2)};
    const auto put = client_.Put(pieces, {.metadata = "m"});
    ASSERT_TRUE(put) << put.error().ToString();
    EXPECT_TRUE(Equal(client_.Get(*put), whole));
    EXPECT_EQ(client_.Get(*put).value().metadata(), "m");
    const auto later = client_.PutAsync(pieces).Wait(20s);
    ASSERT_TRUE(later) << later.error().ToString();
    EXPECT_TRUE(Equal(client_.Get(*later), whole));
  }
  EXPECT_EQ(client_.Get(client_.Put(Pieces()).value()).value().size(), 0u);
}

}  // namespace
}  // namespace hoplite::test
