// A worker beside a node that stands still, wakes up, or is started again at the same socket.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <hoplite/channel.h>

#include "testing/local_node.h"
#include "testing/standstill.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

Result<ObjectId> PutWithin(Client& client, std::chrono::milliseconds timeout) {
  return client.Put(std::string(60'000, 'x'), {.timeout = timeout});
}

// There are more calls than the socket takes: it is full for most of them.
TEST(StoppedNode, DeadlinesHoldAlsoWhenItTakesNothingAndTheClientOutlivesIt) {
  LocalNode node;
  Client client = node.Worker();
  {
    const Standstill standstill(node.operations().loop());
    for (int i = 0; i < 8; ++i) EXPECT_FALSE(PutWithin(client, 1ms));
    // The best of several, since the machine may be busy.
    auto best = steady_clock::duration::max();
    for (int i = 0; i < 5; ++i) {
      const auto start = steady_clock::now();
      const auto put = PutWithin(client, 200ms);
      best = std::min(best, steady_clock::now() - start);
      ASSERT_FALSE(put);
      EXPECT_EQ(put.error().code, ErrorCode::kTimeout) << put.error().message;
    }
    EXPECT_GE(best, 200ms);
    EXPECT_LE(best, 300ms);
  }
  EXPECT_TRUE(PutWithin(client, 20s));
}

// Messages that waited for room reach the node when there is room, in order, even if no other call
// is made.
TEST(StoppedNode, WhatItMissedIsToldWhenItGoesOn) {
  LocalNode node;
  Client client = node.Worker();
  const ObjectId id = *client.Put("held");
  std::vector<Buffer> pins;
  for (int i = 0; i < 1000; ++i) pins.push_back(*client.Get(id));
  {
    const Standstill standstill(node.operations().loop());
    pins.clear();  // a thousand messages that nobody answers
  }
  ASSERT_TRUE(client.Delete(id, {.timeout = 20s}));
  EXPECT_TRUE(Eventually([&] { return node.used_bytes() == 0; }));
}

// Its end is told when the node goes on.
TEST(StoppedNode, AChannelThatPublishedIsClosedAtOnce) {
  LocalNode node;
  Client client = node.Worker();
  Channel channel = client.OpenChannel("it").value();
  ASSERT_TRUE(channel.Publish({}));
  std::future<void> closed;
  bool in_time = false;
  {
    const Standstill standstill(node.operations().loop());
    closed = std::async(std::launch::async, [&] { channel.Close(); });
    in_time = closed.wait_for(10s) == std::future_status::ready;
  }
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(Eventually([&] { return node.used_bytes() == 0; })) << "what it published goes";
}

TEST(StoppedNode, ACloseOfAChannelCancelsWhatAnotherThreadPublishes) {
  LocalNode node;
  Client client = node.Worker();
  Channel channel = client.OpenChannel("it").value();
  ASSERT_TRUE(channel.Publish({}));
  std::future<Result<std::uint64_t>> published;
  std::future<void> closed;
  bool in_time = false;
  {
    const Standstill standstill(node.operations().loop());
    published = std::async(std::launch::async, [&] { return channel.Publish({}); });
    EXPECT_EQ(published.wait_for(200ms), std::future_status::timeout);
    closed = std::async(std::launch::async, [&] { channel.Close(); });
    in_time = closed.wait_for(10s) == std::future_status::ready &&
              published.wait_for(10s) == std::future_status::ready;
  }
  EXPECT_TRUE(in_time);
  EXPECT_EQ(CodeOf(published.get()), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node.used_bytes() == 0; })) << "what it published goes";
}

TEST(StoppedNode, APutThatFoundNoRoomInTimeNeverHappens) {
  LocalNode node;
  Client client = node.Worker();
  const ObjectId id = ObjectId::Random();
  {
    const Standstill standstill(node.operations().loop());
    for (int i = 0; i < 8; ++i) EXPECT_FALSE(PutWithin(client, 1ms));
    EXPECT_FALSE(client.Put("late", {.id = id, .timeout = 1ms}));
  }
  ASSERT_TRUE(PutWithin(client, 20s));  // sent behind those messages
  EXPECT_TRUE(client.Put("anew", {.id = id, .timeout = 20s}));
}

TEST(StoppedNode, WhoIsCalledWhenReadyIsCalledAtTheDeadline) {
  LocalNode node;
  Client client = node.Worker();
  const std::vector<std::byte> bytes(1_MiB);
  std::atomic<int> called{0};
  const Standstill standstill(node.operations().loop());
  const auto get = client.GetAsync(ObjectId::Random(), {.timeout = 100ms});
  const auto put = client.PutAsync(bytes, {.timeout = 100ms});
  get.OnReady([&] { ++called; });
  put.OnReady([&] { ++called; });
  EXPECT_TRUE(Eventually([&] { return called == 2; }));
  EXPECT_EQ(get.Wait(0ms).error().code, ErrorCode::kTimeout);
  EXPECT_EQ(put.Wait(0ms).error().code, ErrorCode::kTimeout);
}

TEST(RestartedNode, IsFoundFromAnotherFolderByAPathThatWasRelative) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string path = FreshSocketPath();
  auto node = std::make_unique<LocalNode>(1_MiB, path);
  std::filesystem::current_path(std::filesystem::path(path).parent_path());
  Client client = Client::Connect(std::filesystem::path(path).filename()).value();
  std::filesystem::current_path("/");
  node.reset();
  node = std::make_unique<LocalNode>(1_MiB, path);
  EXPECT_TRUE(Eventually([&] { return client.Put("y", {.timeout = 20s}).has_value(); }));
  std::filesystem::current_path(before);
}

TEST(RestartedNode, TheClientFindsTheNewOneAndWhatItHadFromTheOldStays) {
  const std::string path = FreshSocketPath();
  auto node = std::make_unique<LocalNode>(64_MiB, path);
  Client client = node->Worker();
  const ObjectId id = *client.Put("of the old");
  const Buffer view = *client.Get(id);
  Draft draft = *client.Create(ObjectId::Random(), 100'000);
  Subscription subscription = *client.Subscribe(id);
  node.reset();
  const auto nobody = client.Put("x", {.timeout = 20s});
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable) << nobody.error().message;
  node = std::make_unique<LocalNode>(64_MiB, path);
  ASSERT_TRUE(Eventually([&] { return client.Put("y", {.timeout = 20s}).has_value(); }));
  EXPECT_EQ(view.view(), "of the old");
  EXPECT_EQ(draft.Seal(20s).error().code, ErrorCode::kUnavailable);
  Result<LocationChange> change = subscription.Next(20s);
  while (change) change = subscription.Next(20s);
  EXPECT_EQ(change.error().code, ErrorCode::kUnavailable);
  client.Close();
  EXPECT_EQ(client.Put("z").error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace hoplite::test
