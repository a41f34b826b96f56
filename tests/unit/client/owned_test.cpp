// What Client::Own and owned Puts promise, over both ways of attaching. The node is a fake: a
// deletion for lack of owners is its own, at once.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"
#include "testing/raw_client.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;
using ClientEnd = node::Operations::ClientEnd;

class OwningClientTest : public AttachedTest {
 protected:
  bool Exists(const ObjectId& object) {
    return node_.OnLoop([&] { return node_.operations().store().Find(object) != nullptr; });
  }
  std::optional<ClientEnd> LastEnd() {
    return node_.OnLoop([this] { return node_.operations().client_end(); });
  }

  const ObjectId x_ = ObjectId::FromName("x");
};

HOPLITE_TEST_BOTH_WAYS(OwningClientTest);

TEST_P(OwningClientTest, EveryKindOfPutMayBeOwned) {
  const std::string large(1'000'000, 'l');
  ASSERT_TRUE(client_.Put("small", {.id = x_, .owned = true, .timeout = 5s}));
  const auto later = client_.PutAsync(std::as_bytes(std::span(large)), {.owned = true}).Wait();
  ASSERT_TRUE(later);
  const auto put = client_.Put(large, {.owned = true, .timeout = 5s});
  ASSERT_TRUE(put) << put.error().ToString();
  for (const ObjectId& id : {x_, *later, *put}) {
    EXPECT_TRUE(Exists(id));
    EXPECT_TRUE(client_.Disown(id, {.timeout = 5s}));
    EXPECT_FALSE(Exists(id)) << "its only owner is gone";
  }
  const ObjectId y = ObjectId::FromName("y");
  auto draft = client_.Create(y, 100'000, {.owned = true, .timeout = 5s});
  ASSERT_TRUE(draft);
  ASSERT_TRUE(draft->Seal(5s));
  EXPECT_TRUE(client_.Disown(y, {.timeout = 5s}));
  EXPECT_FALSE(Exists(y));
}

TEST_P(OwningClientTest, WhoDisownsNeedNotWait) {
  for (const std::size_t size : {100, 1'000'000}) {
    const auto put = client_.Put(std::string(size, 'x'), {.owned = true, .timeout = 5s});
    ASSERT_TRUE(put);
    client_.DisownSoon({{*put, x_}});
    EXPECT_EQ(CodeOf(client_.Own(*put, {.timeout = 5s})), ErrorCode::kDeleted)
        << "the node hears of it before any later call";
  }
  client_.Close();
  client_.DisownSoon({{x_}});
}

// Its socket is full as long as it reads nothing.
TEST_P(OwningClientTest, WhoDisownsDoesNotWaitForANodeThatStandsStill) {
  ASSERT_TRUE(client_.Put("owned", {.id = x_, .owned = true, .timeout = 5s}));
  const std::vector<ObjectId> many(10'000, x_);
  node_.OnLoop([&] {
    for (int i = 0; i < 100; ++i) client_.DisownSoon(many);
  });
  EXPECT_TRUE(Eventually([&] { return !Exists(x_); }));
}

TEST_P(OwningClientTest, OwningAndDeletingNeedNoThread) {
  const std::vector<ObjectId> both{x_, ObjectId::FromName("y")};
  Future<void> owning = client_.OwnAsync(both, {.timeout = 5s});
  EXPECT_EQ(WaitAny({owning}, 5s), 0u);
  EXPECT_TRUE(owning.Wait());
  EXPECT_EQ(client_.Status({.timeout = 5s})->clients.owned, 2u);
  EXPECT_TRUE(client_.DeleteAsync(both, {.timeout = 5s}).Wait());
  EXPECT_EQ(CodeOf(client_.OwnAsync(both, {.timeout = 5s}).Wait()), ErrorCode::kDeleted);
  const std::vector<ObjectId> too_many(kMaxIdsAtOnce + 1, x_);
  const auto refused = client_.DeleteAsync(too_many, {.timeout = 5s}).Wait();
  ASSERT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "16385 ids; at most 16384 are taken at once");
}

TEST_P(OwningClientTest, WithoutAnOwnerAnObjectStays) {
  ASSERT_TRUE(client_.Put("stays", {.id = x_, .timeout = 5s}));
  ASSERT_TRUE(client_.Disown(x_, {.timeout = 5s})) << "it did not own it";
  client_.Close();
  EXPECT_TRUE(Exists(x_));
}

TEST_P(OwningClientTest, PutsForWhoOwnsAreRefusedIfNobodyDoes) {
  for (const std::size_t size : {100, 1'000'000}) {
    const auto put = client_.Put(std::string(size, 'x'), {.only_if_owned = true, .timeout = 5s});
    EXPECT_EQ(CodeOf(put), ErrorCode::kNotFound);
  }
  ASSERT_TRUE(client_.Own(x_, {.timeout = 5s}));
  EXPECT_TRUE(client_.Put("wanted", {.id = x_, .only_if_owned = true, .timeout = 5s}));
}

TEST_P(OwningClientTest, WhatTheNodeAnswersIsTold) {
  for (const char* name : {"1", "2", "3"}) {
    ASSERT_TRUE(client_.Own(ObjectId::FromName(name), {.timeout = 5s}));
  }
  EXPECT_EQ(CodeOf(client_.Own(x_, {.timeout = 5s})), ErrorCode::kResourceExhausted);
  ASSERT_TRUE(client_.Delete(x_, {.timeout = 5s}));
  EXPECT_EQ(CodeOf(client_.Own(x_, {.timeout = 5s})), ErrorCode::kDeleted);
  EXPECT_EQ(CodeOf(client_.Own(ObjectId(), {.timeout = 5s})), ErrorCode::kInvalidArgument);
  const auto status = client_.Status({.timeout = 5s});
  ASSERT_TRUE(status);
  EXPECT_EQ(status->clients.owned, 3u);
  EXPECT_EQ(status->clients.max_owned, 3u);
}

TEST_P(OwningClientTest, AClientThatIsClosedDisownsAllAndItsBuffersStay) {
  ASSERT_TRUE(client_.Put("owned", {.id = x_, .owned = true, .timeout = 5s}));
  const auto view = client_.Get(x_, {.timeout = 5s});
  ASSERT_TRUE(view);
  client_.Close();
  EXPECT_TRUE(Eventually([&] { return !Exists(x_); }));
  EXPECT_EQ(LastEnd(), ClientEnd::kClosed);
  EXPECT_EQ(view->view(), "owned");
}

TEST_P(OwningClientTest, OwnershipEndsWithTheLastHandleOfAClient) {
  std::optional<Client> first = Attach();
  std::optional<Client> second = *first;
  ASSERT_TRUE(first->Put("owned", {.id = x_, .owned = true, .timeout = 5s}));
  const auto view = first->Get(x_, {.timeout = 5s});
  first.reset();
  ASSERT_TRUE(second->Get(x_, {.timeout = 5s})) << "a copy of the handle is left";
  second.reset();
  EXPECT_TRUE(Eventually([&] { return !Exists(x_); })) << "a buffer is no handle";
  EXPECT_EQ(LastEnd(), ClientEnd::kClosed);
}

// Its connection ends in the same moment; what it said before is read first.
TEST_P(OwningClientTest, ATemporaryClientIsClosedNotDead) {
  for (int i = 0; i < 20; ++i) {
    const auto id = Attach().Put("owned", {.owned = true, .timeout = 5s});
    ASSERT_TRUE(id);
    EXPECT_TRUE(Eventually([&] { return !Exists(*id); }));
    EXPECT_EQ(LastEnd(), ClientEnd::kClosed);
  }
}

TEST_P(OwningClientTest, ADeadClientDidNotSayThatItLeft) {
  {
    RawClient raw(node_.path());
    raw.Hello();
    ASSERT_TRUE(raw.Receive());
  }
  EXPECT_TRUE(Eventually([&] { return LastEnd() == ClientEnd::kDied; }));
}

TEST_P(OwningClientTest, AReductionIsToldWhetherItsTargetIsOwned) {
  ASSERT_TRUE(client_.Put("abcd", {.id = x_, .timeout = 5s}));
  const ReduceOptions options{
      .sources = {x_}, .op = Op::kSum, .dtype = DType::kUint8, .owned = true, .timeout = 5s};
  ASSERT_TRUE(client_.Reduce(options)->Wait());
  EXPECT_TRUE(node_.OnLoop([this] { return node_.operations().reduction().owned; }));
}

}  // namespace
}  // namespace hoplite::test
