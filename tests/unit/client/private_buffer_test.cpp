// Buffer::MapPrivate: an object's bytes to write to, over both ways of attaching.
#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

class PrivateBufferTest : public AttachedTest {};

HOPLITE_TEST_BOTH_WAYS(PrivateBufferTest);

TEST_P(PrivateBufferTest, WhatIsWrittenNobodyElseSees) {
  // They lie side by side, some in one page.
  std::vector<std::vector<std::byte>> contents;
  std::vector<ObjectId> ids;
  for (const std::size_t size : {1uz, 100uz, 4096uz, 5000uz, 70'001uz, 3uz, 1'048'579uz}) {
    contents.push_back(Pattern(size));
    ids.push_back(client_.Put(contents.back()).value());
  }
  std::vector<PrivateBuffer> mapped;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto made = client_.Get(ids[i]).value().MapPrivate();
    ASSERT_TRUE(made) << made.error().ToString();
    mapped.push_back(*std::move(made));
    EXPECT_TRUE(Equal(mapped.back().bytes(), contents[i]));
    EXPECT_EQ(mapped.back().object().id(), ids[i]);
  }
  auto again = client_.Get(ids.back()).value().MapPrivate();
  for (const PrivateBuffer& one : mapped) std::ranges::fill(one.bytes(), std::byte{0xee});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(Equal(mapped[i].object().bytes(), contents[i]));
    EXPECT_TRUE(Equal(Attach().Get(ids[i]), contents[i]));
    EXPECT_TRUE(
        std::ranges::all_of(mapped[i].bytes(), [](auto b) { return b == std::byte{0xee}; }));
  }
  EXPECT_TRUE(Equal(again->bytes(), contents.back()));
}

TEST_P(PrivateBufferTest, ItPinsTheObject) {
  const auto bytes = Pattern(3'000'000);
  const auto id = client_.Put(bytes);
  std::optional<PrivateBuffer> mapped = client_.Get(*id).value().MapPrivate().value();
  mapped->bytes()[0] = std::byte{0xee};
  ASSERT_TRUE(client_.Delete(*id));
  EXPECT_GE(node_.used_bytes(), 3'000'000u);
  EXPECT_TRUE(Equal(mapped->bytes().subspan(1), std::span(bytes).subspan(1)));
  mapped.reset();
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
}

TEST_P(PrivateBufferTest, ItOutlivesItsClientAndTheNode) {
  const auto bytes = Pattern(100'000);
  std::optional<Client> other = Attach();
  const auto view = other->Get(client_.Put(bytes).value());
  other->Close();
  other.reset();
  const auto mapped = view->MapPrivate();
  node_.Stop();
  const auto later = view->MapPrivate();
  ASSERT_TRUE(mapped && later);
  mapped->bytes()[99'999] = std::byte{0xee};
  EXPECT_TRUE(Equal(later->bytes(), bytes));
}

TEST_P(PrivateBufferTest, OfNothingThereIsNothing) {
  EXPECT_EQ(Buffer().MapPrivate().value().size(), 0u);
  EXPECT_EQ(client_.Get(client_.Put("").value()).value().MapPrivate().value().size(), 0u);
}

}  // namespace
}  // namespace hoplite::test
