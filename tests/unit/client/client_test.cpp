// What the client promises, over both ways of attaching: a worker's socket, and the node's own
// process.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"
#include "wire/local_protocol.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

class ClientTest : public AttachedTest {};

HOPLITE_TEST_BOTH_WAYS(ClientTest);

TEST_P(ClientTest, PutThenGetGivesBytesAndMetadata) {
  for (const std::size_t size : {0uz, 1uz, 1024uz, 64 * 1024uz, 64 * 1024uz + 1, 20'000'001uz}) {
    const auto bytes = Pattern(size);
    const auto id = client_.Put(bytes, {.metadata = "float32"});
    ASSERT_TRUE(id) << id.error().ToString();
    const auto view = client_.Get(*id, {.timeout = 5s});
    ASSERT_TRUE(view) << view.error().ToString();
    EXPECT_TRUE(Equal(view->bytes(), bytes)) << size;
    EXPECT_EQ(view->metadata(), "float32");
    EXPECT_EQ(view->id(), *id);
  }
}

TEST_P(ClientTest, PutOfAnExistingIdKeepsItsBytes) {
  const ObjectId id = ObjectId::FromName("taken");
  ASSERT_TRUE(client_.Put("first", {.id = id}));
  EXPECT_EQ(CodeOf(client_.Put("second", {.id = id})), ErrorCode::kAlreadyExists);
  EXPECT_EQ(CodeOf(client_.Put(Pattern(1_MiB), {.id = id})), ErrorCode::kAlreadyExists);
  EXPECT_EQ(Text(client_.Get(id)), "first");
}

TEST_P(ClientTest, DeletedObjectsAnswerDeleted) {
  const auto id = client_.Put("short-lived");
  ASSERT_TRUE(client_.Delete(*id));
  EXPECT_EQ(CodeOf(client_.Get(*id)), ErrorCode::kDeleted);
  EXPECT_EQ(CodeOf(client_.Put("again", {.id = *id})), ErrorCode::kDeleted);
}

TEST_P(ClientTest, ObjectLargerThanTheStoreSaysBothSizes) {
  const auto draft = client_.Create(ObjectId::Random(), 1_GiB);
  ASSERT_EQ(CodeOf(draft), ErrorCode::kResourceExhausted);
  EXPECT_THAT(draft.error().message, testing::HasSubstr("1.0 GiB"));
  EXPECT_THAT(draft.error().message, testing::HasSubstr("64.0 MiB"));
  EXPECT_EQ(CodeOf(client_.Create(ObjectId::Random(), ~0ull)), ErrorCode::kInvalidArgument);
}

TEST_P(ClientTest, BadArgumentsAreRefused) {
  EXPECT_EQ(CodeOf(client_.Get(ObjectId())), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client_.Put("x", {.metadata = std::string(4097, 'm')})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client_.Create(ObjectId::Random(), 10, {.metadata = std::string(4097, 'm')})),
            ErrorCode::kInvalidArgument);
  // Too large for a message; the connection must survive what the caller did wrong.
  EXPECT_FALSE(client_.Put("x", {.metadata = std::string(1_MiB, 'm')}));
  EXPECT_TRUE(client_.Put("x"));
}

TEST_P(ClientTest, GetWaitsForThePut) {
  const ObjectId id = ObjectId::Random();
  const auto future = client_.GetAsync(id);
  EXPECT_EQ(CodeOf(future.Wait(0ms)), ErrorCode::kTimeout);
  EXPECT_FALSE(future.ready());
  ASSERT_TRUE(Attach().Put("late", {.id = id}));
  const auto view = future.Wait(5s);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->view(), "late");
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(Text(future.Wait(0ms)), "late");  // each time it is asked
}

TEST_P(ClientTest, GetEndsAtItsDeadline) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(CodeOf(client_.Get(ObjectId::Random(), {.timeout = 30ms})), ErrorCode::kTimeout);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
  EXPECT_EQ(CodeOf(client_.Open(ObjectId::Random(), {.timeout = 0ms})), ErrorCode::kTimeout);
  EXPECT_EQ(CodeOf(client_.Get(ObjectId::Random(), {.timeout = -5ms})), ErrorCode::kTimeout);
}

TEST_P(ClientTest, CancelEndsTheRequestOnce) {
  auto future = client_.GetAsync(ObjectId::Random());
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  future.Cancel();
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(CodeOf(future.Wait()), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
  future.Cancel();
  EXPECT_EQ(CodeOf(future.Wait()), ErrorCode::kCancelled);
}

TEST_P(ClientTest, CancelAfterTheAnswerChangesNothing) {
  const auto id = client_.Put("there");
  auto future = client_.GetAsync(*id);
  ASSERT_TRUE(WaitAny({future}, 5s));
  future.Cancel();
  EXPECT_EQ(Text(future.Wait()), "there");
}

TEST_P(ClientTest, ForgottenFuturesPinNothing) {
  const auto id = client_.Put(Pattern(1_MiB));
  for (int i = 0; i < 50; ++i) {
    auto future = client_.GetAsync(*id);  // answered, cancelled or in between
    if (i % 2 == 0) future.Cancel();
  }
  {
    const auto asked = client_.GetAsync(ObjectId::Random());
  }
  ASSERT_TRUE(client_.Delete(*id));
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0 && node_.waiting() == 0; }));
}

TEST_P(ClientTest, WaitAnyGivesOneThatIsReady) {
  std::vector<ObjectId> ids{ObjectId::Random(), ObjectId::Random(), ObjectId::Random()};
  std::vector<Future<Buffer>> futures;
  for (const auto& id : ids) futures.push_back(client_.GetAsync(id));
  EXPECT_EQ(CodeOf(WaitAny(futures, 5ms)), ErrorCode::kTimeout);
  std::thread putter([&] { EXPECT_TRUE(Attach().Put("second", {.id = ids[1]})); });
  EXPECT_EQ(WaitAny(futures, 10s), 1u);
  putter.join();
  futures[0].Cancel();  // an error is an answer too
  EXPECT_EQ(WaitAny(futures), 0u);
  EXPECT_EQ(CodeOf(WaitAny({})), ErrorCode::kInvalidArgument);
}

TEST_P(ClientTest, GetManyAnswersEachInOrder) {
  const auto a = client_.Put("a");
  const auto b = client_.Put("b");
  const std::vector<ObjectId> ids{*b, ObjectId::Random(), *a};
  const auto answers = client_.GetMany(ids, {.timeout = 30ms});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]->view(), "b");
  EXPECT_EQ(CodeOf(answers[1]), ErrorCode::kTimeout);
  EXPECT_EQ(answers[2]->view(), "a");
}

TEST_P(ClientTest, ViewsPinWhatWasDeleted) {
  const auto bytes = Pattern(3_MiB);
  const auto id = client_.Put(bytes);
  auto view = client_.Get(*id);
  ASSERT_TRUE(client_.Delete(*id));
  EXPECT_TRUE(Equal(view->bytes(), bytes));
  EXPECT_GE(node_.used_bytes(), 3_MiB);
  const Buffer copy = *view;
  view = Buffer();
  EXPECT_GE(node_.used_bytes(), 3_MiB) << "a copy shares the pin";
  EXPECT_TRUE(Equal(copy.bytes(), bytes));
}

TEST_P(ClientTest, LastViewGivesTheMemoryBack) {
  const auto id = client_.Put(Pattern(3_MiB));
  {
    const auto view = client_.Get(*id);
  }
  ASSERT_TRUE(client_.Delete(*id));
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
}

TEST_P(ClientTest, ViewOutlivesItsClientAndTheNode) {
  const auto bytes = Pattern(1_MiB);
  const auto id = client_.Put(bytes);
  std::optional<Result<Buffer>> view;
  {
    Client other = Attach();
    view = other.Get(*id);
    other.Close();
    EXPECT_EQ(CodeOf(other.Get(*id)), ErrorCode::kCancelled);
  }
  ASSERT_TRUE(*view);
  ASSERT_TRUE(client_.Delete(*id));
  EXPECT_GE(node_.used_bytes(), 1_MiB);
  node_.Stop();
  EXPECT_TRUE(Equal((*view)->bytes(), bytes));
  EXPECT_EQ(CodeOf(client_.Put("x")), ErrorCode::kUnavailable);
}

// An error that names it is text all the same, and does not end the connection.
TEST_P(ClientTest, ARegistersNameMayBeNoText) {
  const auto held = client_.OpenRegister("\xff name", {.timeout = 5s});
  ASSERT_TRUE(held);
  const auto waits = client_.GetAsync(ObjectId::Random(), {.timeout = 1s});
  const auto changed = held->Changed({}, {.timeout = 20ms});
  ASSERT_EQ(CodeOf(changed), ErrorCode::kTimeout);
  EXPECT_THAT(changed.error().message, testing::HasSubstr("\\xff name"));
  EXPECT_EQ(CodeOf(waits.Wait()), ErrorCode::kTimeout) << "the others go on";
}

TEST_P(ClientTest, CloseAndTheEndOfTheNodeWakeWhoWaits) {
  Client other = Attach();
  const auto closed = other.GetAsync(ObjectId::Random());
  const auto lost = client_.GetAsync(ObjectId::Random());
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 2; }));
  other.Close();
  EXPECT_EQ(CodeOf(closed.Wait()), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  node_.Stop();
  EXPECT_EQ(CodeOf(lost.Wait()), ErrorCode::kUnavailable);
}

TEST_P(ClientTest, InfoAndStatusSayWhatTheNodeKnows) {
  const auto id = client_.Put(Pattern(100'000), {.metadata = "m"});
  const auto info = client_.Info(*id);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->id, *id);
  EXPECT_EQ(info->size_bytes, 100'000u);
  EXPECT_EQ(info->version, "7.3");
  EXPECT_EQ(info->metadata, "m");
  ASSERT_EQ(info->holders.size(), 1u);
  EXPECT_EQ(info->holders[0].node, "alone");
  EXPECT_TRUE(info->holders[0].complete);
  EXPECT_EQ(info->holders[0].valid_bytes, 100'000u);
  EXPECT_EQ(info->transfers.at(0).to, "other");
  EXPECT_EQ(info->waiters.at(0).why, "every holder is busy");
  ASSERT_EQ(info->slots.size(), 1u);
  EXPECT_EQ(info->slots[0].slot, 2u);
  EXPECT_EQ(info->slots[0].parent, 1u);
  EXPECT_THAT(info->slots[0].parents, testing::ElementsAre(1, 3));
  EXPECT_THAT(info->slots[0].stripes, testing::ElementsAre(1, 3));
  EXPECT_EQ(info->slots[0].node, "fourth");
  EXPECT_THAT(info->slots[0].inputs, testing::ElementsAre(*id));
  EXPECT_EQ(info->slots[0].valid_bytes, 4u);
  EXPECT_EQ(CodeOf(client_.Info(ObjectId::Random())), ErrorCode::kNotFound);

  const auto status = client_.Status();
  ASSERT_TRUE(status);
  ASSERT_EQ(status->nodes.size(), 1u);
  EXPECT_EQ(status->nodes[0].name, "alone");
  EXPECT_TRUE(status->nodes[0].alive);
  EXPECT_EQ(status->nodes[0].memory_bytes, 64_MiB);
  EXPECT_GE(status->nodes[0].used_bytes, 100'000u);
  EXPECT_EQ(status->nodes[0].bytes_per_second, 12'500'000u);
  ASSERT_EQ(status->objects.size(), 1u);
  EXPECT_EQ(status->objects[0].id, *id);
}

// Also if all that are away say so in the same words.
TEST_P(ClientTest, StatusAsksEveryShard) {
  node_.OnLoop([&] { node_.operations().SetShards(4); });
  Client client = Attach();
  const auto status = client.Status();
  ASSERT_TRUE(status) << status.error().ToString();
  ASSERT_EQ(status->shards.size(), 4u);
  for (std::size_t shard = 0; shard < 3; ++shard) {
    EXPECT_EQ(status->shards[shard].away, "a shard is away");
  }
  EXPECT_EQ(status->shards[3].away, "");
}

TEST_P(ClientTest, StatusComesInPagesAndListsAsManyAsAreAskedFor) {
  constexpr std::size_t kObjects = 5;  // the node draws two at once
  for (std::size_t i = 0; i < kObjects; ++i) ASSERT_TRUE(client_.Put("object"));
  const auto all = client_.Status();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->object_count(), kObjects);
  ASSERT_EQ(all->objects.size(), kObjects);
  EXPECT_EQ(all->nodes.size(), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(all->objects, {}, &ObjectInfo::id));
  for (const std::size_t wanted : {0u, 1u, 3u}) {
    const auto some = client_.Status({}, wanted);
    ASSERT_TRUE(some);
    EXPECT_EQ(some->object_count(), kObjects);
    ASSERT_EQ(some->objects.size(), wanted);
    for (std::size_t i = 0; i < wanted; ++i) EXPECT_EQ(some->objects[i].id, all->objects[i].id);
  }
}

TEST_P(ClientTest, WaitExistsGivesThoseThatDoInTheirOrder) {
  const std::vector<ObjectId> ids{ObjectId::Random(), ObjectId::Random(), ObjectId::Random()};
  ASSERT_TRUE(client_.Put("here", {.id = ids[2]}));
  EXPECT_THAT(*client_.WaitExists(ids, 1), testing::ElementsAre(ids[2]));
  EXPECT_THAT(*client_.WaitExists(ids, 0), testing::ElementsAre(ids[2]));
  EXPECT_THAT(*client_.WaitExists(ids, 2, {.timeout = 20ms}), testing::ElementsAre(ids[2]));
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(Attach().Put(Pattern(1_MiB), {.id = ids[0]}));
  });
  EXPECT_THAT(*client_.WaitExists(ids, 2, {.timeout = 20s}), testing::ElementsAre(ids[0], ids[2]));
  later.join();
  node_.OnLoop([&] {
    node_.operations().Locate({.object = ids[1], .kind = protocol::LocationKind::kPartial});
  });
  EXPECT_EQ(client_.WaitExists(ids, 3, {.timeout = 20ms})->size(), 2u) << "not complete anywhere";
  ASSERT_TRUE(client_.Delete(ids[2]));
  EXPECT_THAT(*client_.WaitExists(ids, 2, {.timeout = 20ms}), testing::ElementsAre(ids[0]));
  EXPECT_EQ(node_.OnLoop([&] { return node_.operations().subscribers(); }), 0u);
}

TEST_P(ClientTest, WaitExistsRefusesWhatCannotBe) {
  const std::vector<ObjectId> ids{ObjectId::Random(), ObjectId()};
  EXPECT_EQ(CodeOf(client_.WaitExists(ids, 1)), ErrorCode::kInvalidArgument) << "the zero id";
  EXPECT_EQ(CodeOf(client_.WaitExists(std::span(ids).first(1), 2)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(client_.WaitExists({}, 0)->size(), 0u);
  std::vector<ObjectId> many(kMaxWaitExists + 1, ids[0]);
  EXPECT_EQ(CodeOf(client_.WaitExists(many, 1)), ErrorCode::kInvalidArgument);
  many.pop_back();
  ASSERT_TRUE(client_.Put("x", {.id = ids[0]}));
  EXPECT_EQ(client_.WaitExists(many, many.size(), {.timeout = 20s})->size(), kMaxWaitExists);
}

TEST_P(ClientTest, InfoOfManyAnswersEachInOrder) {
  std::vector<ObjectId> ids(wire::kMaxGetMany + 2, ObjectId::FromName("missing"));
  ids.front() = *client_.Put("first");
  ids.back() = *client_.Put("second");
  const auto infos = client_.Info(ids);
  ASSERT_EQ(infos.size(), ids.size());
  ASSERT_TRUE(infos.front() && infos.back());
  EXPECT_EQ(infos.front()->size_bytes, 5u);
  EXPECT_EQ(infos.back()->id, ids.back());
  EXPECT_EQ(CodeOf(infos[1]), ErrorCode::kNotFound);
  EXPECT_TRUE(client_.Info(std::span<const ObjectId>()).empty());
  node_.Stop();
  const auto lost = client_.Info(ids, {.timeout = 5s});
  ASSERT_EQ(lost.size(), ids.size());
  EXPECT_EQ(CodeOf(lost.back()), ErrorCode::kUnavailable);
}

TEST(ClientOfASmallNode, WaitsForAsManyObjectsAsItMayHold) {
  LocalNode node(64_MiB, FreshSocketPath(), {.pins = 10});
  Client client = node.Worker();
  const std::vector<ObjectId> ids(11, ObjectId::FromName("one"));
  EXPECT_EQ(CodeOf(client.WaitExists(ids, 1)), ErrorCode::kResourceExhausted);
  EXPECT_EQ(client.WaitExists(std::span(ids).first(10), 10, {.timeout = 1ms})->size(), 0u);
  EXPECT_EQ(client.WaitExists(std::span(ids).first(10), 10, {.timeout = 1ms})->size(), 0u);
}

// More than one request holds; asked for in another order.
TEST_P(ClientTest, VeryManyAreGotTogether) {
  std::vector<ObjectId> ids(2 * wire::kMaxGetMany + 1);
  for (ObjectId& id : ids) id = ObjectId::Random();
  for (const std::size_t there : {0uz, 3000uz, ids.size() - 1}) {
    ASSERT_TRUE(client_.Put(std::to_string(there), {.id = ids[there]}));
  }
  const auto answers = client_.GetMany(ids, {.timeout = 0ms});
  ASSERT_EQ(answers.size(), ids.size());
  for (std::size_t place = 0; place < ids.size(); ++place) {
    if (place == 0 || place == 3000 || place + 1 == ids.size()) {
      ASSERT_TRUE(answers[place]) << answers[place].error().ToString();
      EXPECT_EQ(answers[place]->view(), std::to_string(place));
    } else {
      ASSERT_EQ(CodeOf(answers[place]), ErrorCode::kTimeout);
      ASSERT_EQ(answers[place].error().message, "object " + ids[place].ToHex() + " is not complete")
          << "the node's own words";
    }
  }
}

TEST_P(ClientTest, ManyAreDeletedOwnedAndDisownedTogether) {
  std::vector<ObjectId> ids(3);
  for (ObjectId& id : ids) id = *client_.Put("x");
  ASSERT_TRUE(client_.Own(ids));
  EXPECT_EQ(node_.OnLoop([&] { return node_.operations().owned().count; }), 3u);
  ASSERT_TRUE(client_.Disown(std::span(ids).first(1)));
  EXPECT_EQ(CodeOf(client_.Get(ids[0])), ErrorCode::kDeleted);
  const Result<void> again = client_.Own(ids);
  ASSERT_EQ(CodeOf(again), ErrorCode::kDeleted);
  EXPECT_THAT(again.error().message, testing::HasSubstr("1 of 3 objects have an error"));
  ASSERT_TRUE(client_.Delete(ids));
  for (const ObjectId& id : ids) EXPECT_EQ(CodeOf(client_.Get(id)), ErrorCode::kDeleted);
  ASSERT_TRUE(client_.Delete(std::span<const ObjectId>()));
  EXPECT_EQ(CodeOf(client_.Delete(std::vector{ids[0], ObjectId()})), ErrorCode::kInvalidArgument);
}

// They could never be there together: nobody waits for some of them.
TEST(ClientOfASmallNode, GetsAsManyObjectsTogetherAsItMayHold) {
  LocalNode node(64_MiB, FreshSocketPath(), {.pins = 10});
  Client client = node.Worker();
  std::vector<ObjectId> ids(11, ObjectId::FromName("not there"));
  for (const auto& answer : client.GetMany(ids)) {
    ASSERT_EQ(CodeOf(answer), ErrorCode::kResourceExhausted);
  }
  ASSERT_TRUE(client.Put("x", {.id = ids[0]}));
  ids.pop_back();
  const auto held = client.GetMany(ids);
  EXPECT_EQ(std::ranges::count_if(held, [](const auto& one) { return one.has_value(); }), 10);
  EXPECT_EQ(CodeOf(client.GetMany(std::span(ids).first(1)).front()), ErrorCode::kResourceExhausted);
}

TEST_P(ClientTest, WaitExistsEndsWithItsClient) {
  Client other = Attach();
  std::thread waiting([&] {
    EXPECT_EQ(CodeOf(other.WaitExists(std::vector{ObjectId::Random()}, 1)), ErrorCode::kCancelled);
  });
  const auto subscribers = [&] {
    return node_.OnLoop([&] { return node_.operations().subscribers(); });
  };
  EXPECT_TRUE(Eventually([&] { return subscribers() == 1; }));
  other.Close();
  waiting.join();
  EXPECT_TRUE(Eventually([&] { return subscribers() == 0; }));
}

TEST_P(ClientTest, KnowsItsNodeAndItsCluster) {
  EXPECT_EQ(client_.node_name(), "alone");
  EXPECT_EQ(CodeOf(client_.cluster_id()), ErrorCode::kUnavailable) << "not known yet";
  node_.OnLoop([&] { node_.operations().SetClusterId(0x1234abcd); });
  EXPECT_EQ(client_.cluster_id(), "000000001234abcd");
  node_.Stop();
  EXPECT_EQ(client_.node_name(), "alone");
}

TEST_P(ClientTest, SubscriptionTellsChangesUntilItEnds) {
  const ObjectId id = ObjectId::Random();
  std::optional<Subscription> subscription = client_.Subscribe(id).value();
  EXPECT_EQ(CodeOf(subscription->Next(0ms)), ErrorCode::kTimeout);
  node_.OnLoop([&] {
    protocol::Location location;
    location.object = id;
    location.node_name = "n2";
    location.kind = protocol::LocationKind::kComplete;
    node_.operations().Locate(location);
  });
  const auto change = subscription->Next(5s);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->node, "n2");
  EXPECT_EQ(change->kind, LocationKind::kComplete);
  subscription.reset();
  EXPECT_TRUE(Eventually(
      [&] { return node_.OnLoop([&] { return node_.operations().subscribers(); }) == 0; }));
}

TEST_P(ClientTest, SubscriptionThatIsNotReadEndsInWords) {
  const ObjectId id = ObjectId::Random();
  auto subscription = client_.Subscribe(id).value();
  node_.OnLoop([&] {
    protocol::Location location;
    location.object = id;
    for (int i = 0; i < 5000; ++i) node_.operations().Locate(location);
  });
  ASSERT_TRUE(client_.Status());  // answered after all of them
  for (int i = 0; i < 4096; ++i) ASSERT_TRUE(subscription.Next(5s)) << i;
  EXPECT_EQ(CodeOf(subscription.Next(5s)), ErrorCode::kResourceExhausted);
}

TEST_P(ClientTest, ManyThreadsShareOneClient) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string text = std::to_string(t) + "/" + std::to_string(i);
        const auto id = client_.Put(text);
        ASSERT_TRUE(id);
        const auto view = client_.Get(*id);
        ASSERT_TRUE(view);
        EXPECT_EQ(view->view(), text);
        ASSERT_TRUE(client_.Delete(*id));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(Eventually([&] { return node_.used_bytes() == 0; }));
}

TEST(ConnectTest, NamesWhatIsMissing) {
  const auto absent = Client::Connect("/nonexistent/hoplite.sock");
  ASSERT_EQ(CodeOf(absent), ErrorCode::kUnavailable);
  EXPECT_THAT(absent.error().message, testing::HasSubstr("/nonexistent/hoplite.sock"));
  EXPECT_EQ(CodeOf(Client::Connect("")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(Client::Connect(std::string(200, 'x'))), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hoplite::test
