// Handles that were made by default, or moved from: each call on one says that it is empty.
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;

// The message of what has to be an invalid_argument; else what it is instead.
template <typename T>
std::string Wrong(const Result<T>& result) {
  if (result) return "no error";
  if (result.error().code != ErrorCode::kInvalidArgument) return result.error().ToString();
  return result.error().message;
}
template <typename T>
std::string Wrong(const std::vector<Result<T>>& results) {
  return results.size() == 1 ? Wrong(results.front()) : "not one answer";
}

struct Call {
  const char* name;
  std::function<std::string()> say;  // what it answers
};

void ExpectAll(const std::string& kind, const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    EXPECT_THAT(call.say(), testing::HasSubstr("this " + kind + " is empty")) << call.name;
  }
}

const ObjectId kId = ObjectId::FromName("anything");
const std::vector<ObjectId> kIds{kId};
std::vector<std::byte> room(100'000);

std::vector<Call> CallsOf(Client& client) {
  static const CallOptions soon{.timeout = 5s};  // outlives the calls
  const std::vector<std::span<std::byte>> rooms{room};
  return {
      {"Put", [&] { return Wrong(client.Put("x")); }},
      {"Put of much", [&] { return Wrong(client.Put(std::span<const std::byte>(room))); }},
      {"PutAsync", [&] { return Wrong(client.PutAsync(std::string("x")).Wait(5s)); }},
      {"PutAsync of much", [&] { return Wrong(client.PutAsync(std::span(room)).Wait(5s)); }},
      {"Create", [&] { return Wrong(client.Create(kId, 8)); }},
      {"CreateAsync", [&] { return Wrong(client.CreateAsync(kId, 8).Wait(5s)); }},
      {"Fail", [&] { return Wrong(client.Fail(kId, {ErrorCode::kFailed, "x"})); }},
      {"Get", [&] { return Wrong(client.Get(kId, soon)); }},
      {"GetAsync", [&] { return Wrong(client.GetAsync(kId, soon).Wait(5s)); }},
      {"GetMany", [&] { return Wrong(client.GetMany(kIds, soon)); }},
      {"GetManyAsync", [&] { return Wrong(client.GetManyAsync(kIds, soon).Wait(5s).value()); }},
      {"Prefetch", [&] { return Wrong(client.Prefetch(kId, soon).Wait(5s)); }},
      {"GetInto", [&] { return Wrong(client.GetInto(kId, room, soon)); }},
      {"GetIntoAsync", [&] { return Wrong(client.GetIntoAsync(kId, room, soon).Wait(5s)); }},
      {"GetManyInto", [&, rooms] { return Wrong(client.GetManyInto(kIds, rooms, soon)); }},
      {"Open", [&] { return Wrong(client.Open(kId, soon)); }},
      {"OpenAsync", [&] { return Wrong(client.OpenAsync(kId, soon).Wait(5s)); }},
      {"Reduce",
       [&] {
         const Reduction made = client.Reduce({.sources = kIds}).value();
         return Wrong(made.Wait(5s));
       }},
      {"Delete", [&] { return Wrong(client.Delete(kId, soon)); }},
      {"DeleteAsync", [&] { return Wrong(client.DeleteAsync(kIds, soon).Wait(5s)); }},
      {"Own", [&] { return Wrong(client.Own(kId, soon)); }},
      {"OwnAsync", [&] { return Wrong(client.OwnAsync(kIds, soon).Wait(5s)); }},
      {"Disown", [&] { return Wrong(client.Disown(kId, soon)); }},
      {"Info", [&] { return Wrong(client.Info(kId, soon)); }},
      {"InfoAsync", [&] { return Wrong(client.InfoAsync(kId, soon).Wait(5s)); }},
      {"Why", [&] { return Wrong(client.Why(kId, soon)); }},
      {"WaitExists", [&] { return Wrong(client.WaitExists(kIds, 1, soon)); }},
      {"WaitExistsAsync", [&] { return Wrong(client.WaitExistsAsync(kIds, 1, soon).Wait(5s)); }},
      {"WaitGone", [&] { return Wrong(client.WaitGone(kIds, soon)); }},
      {"Subscribe", [&] { return Wrong(client.Subscribe(kId, soon)); }},
      {"OpenRegister", [&] { return Wrong(client.OpenRegister("r", soon)); }},
      {"OpenChannel", [&] { return Wrong(client.OpenChannel("c")); }},
      {"Status", [&] { return Wrong(client.Status(soon)); }},
      {"Drain", [&] { return Wrong(client.Drain(5s)); }},
      {"DrainAsync", [&] { return Wrong(client.DrainAsync(5s).Wait(5s)); }},
      {"cluster_id", [&] { return Wrong(client.cluster_id(soon)); }},
  };
}

TEST(EmptyHandles, AClientAnswersEachCallSo) {
  Client made;
  ExpectAll("client", CallsOf(made));
  EXPECT_EQ(made.node_name(), "");
  made.DisownSoon(kIds);
  made.Close();
}

TEST(EmptyHandles, TheOthersToo) {
  Draft draft;
  ExpectAll("draft", {{"Advance", [&] { return Wrong(draft.Advance(0)); }},
                      {"Seal", [&] { return Wrong(draft.Seal()); }},
                      {"SealAsync", [&] { return Wrong(draft.SealAsync().Wait()); }}});
  draft.Abort();
  Reader reader;
  ExpectAll("reader", {{"WaitFor", [&] { return Wrong(reader.WaitFor(1)); }}});
  Reduction reduction;
  ExpectAll("reduction", {{"Wait", [&] { return Wrong(reduction.Wait()); }}});
  reduction.Cancel();
  Subscription subscription;
  ExpectAll("subscription", {{"Next", [&] { return Wrong(subscription.Next()); }}});
  SnapshotStream stream;
  ExpectAll("stream", {{"Next", [&] { return Wrong(stream.Next()); }}});
  Register opened;
  ExpectAll("register", {{"Get", [&] { return Wrong(opened.Get()); }},
                         {"CompareAndSet", [&] { return Wrong(opened.CompareAndSet({}, "x")); }},
                         {"Changed", [&] { return Wrong(opened.Changed({})); }},
                         {"GetAsync", [&] { return Wrong(opened.GetAsync().Wait()); }}});
  Channel channel;
  ExpectAll("channel", {{"Publish", [&] { return Wrong(channel.Publish({})); }},
                        {"PublishAsync", [&] { return Wrong(channel.PublishAsync({}).Wait()); }},
                        {"Latest", [&] { return Wrong(channel.Latest()); }},
                        {"Get", [&] { return Wrong(channel.Get()); }},
                        {"GetAsync", [&] { return Wrong(channel.GetAsync().Wait()); }},
                        {"Stream", [&] { return Wrong(channel.Stream()); }}});
  channel.Close();
}

TEST(EmptyHandles, AFutureIsReadyAndCallsAtOnce) {
  Future<Buffer> future;
  EXPECT_FALSE(future.valid());
  EXPECT_TRUE(future.ready());
  ExpectAll("future", {{"Wait", [&] { return Wrong(future.Wait()); }}});
  int calls = 0;
  future.OnReady([&calls] { ++calls; });
  future.OnReady([&calls](const Result<Buffer>& none) { calls += none ? 10 : 1; });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(WaitAny({future}), 0U);
  future.Cancel();
  const Reduction reduction;
  EXPECT_EQ(WaitAny({reduction}), 0U);
  reduction.OnReady([&calls] { ++calls; });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(std::move(future).Then([](const Result<Buffer>& none) { return !none; }).Wait(), true);
  EXPECT_TRUE(WhenAll(std::vector<Future<Buffer>>(2)).Wait(5s));
}

TEST(EmptyHandles, WhatTheyShowIsNothing) {
  const Draft draft;
  EXPECT_EQ(draft.id(), ObjectId());
  EXPECT_TRUE(draft.data().empty());
  const Reader reader;
  EXPECT_EQ(reader.size(), 0U);
  EXPECT_EQ(reader.metadata(), "");
  const Snapshot snapshot;
  EXPECT_EQ(snapshot.version(), 0U);
  EXPECT_TRUE(snapshot.parts().empty());
  EXPECT_EQ(snapshot.Find("x"), nullptr);
  EXPECT_EQ(Reduction().target(), ObjectId());
}

class MovedFrom : public AttachedTest {};
HOPLITE_TEST_BOTH_WAYS(MovedFrom);

TEST_P(MovedFrom, IsEmpty) {
  Client taken = std::move(client_);
  ExpectAll("client", CallsOf(client_));  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(taken.Put("here", {.id = kId}));
  Future<Buffer> future = taken.GetAsync(kId);
  Future<Buffer> there = std::move(future);
  EXPECT_FALSE(future.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(Text(there.Wait()), "here");
  client_ = std::move(taken);
  EXPECT_EQ(Text(client_.Get(kId)), "here");
}

}  // namespace
}  // namespace hoplite::test
