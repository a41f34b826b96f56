// Channels over real nodes: everybody has the newest version, all of it, of one publisher at a time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "client/channel/head.h"
#include "testing/bytes.h"
#include "testing/cluster.h"

namespace hoplite {
namespace {

using test::CodeOf;
using test::Eventually;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kSoon;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kInTime = 60s;
constexpr std::uint64_t kMany = 300;    // versions, and channels
constexpr std::size_t kLarge = 30'000;  // elements: more than what is compared

VersionOptions Exactly(std::uint64_t version) { return {.exactly = version, .timeout = kInTime}; }
VersionOptions AtLeast(std::uint64_t version) { return {.at_least = version, .timeout = kInTime}; }

// Two layers, whose elements all say the version.
class Weights {
 public:
  explicit Weights(float value) : large_(kLarge, value), small_(3, value) {}

  std::vector<Part> parts() const {
    return {{.name = "large",
             .bytes = std::as_bytes(std::span(large_)),
             .dtype = "float32",
             .shape = {kLarge / 3, 3}},
            {.name = "small", .bytes = std::as_bytes(std::span(small_)), .metadata = "few"}};
  }
  std::vector<float>& large() { return large_; }
  std::vector<float>& small() { return small_; }

 private:
  std::vector<float> large_;
  std::vector<float> small_;
};

// The value of all elements of both layers.
float ValueOf(const Snapshot& snapshot) {
  std::optional<float> value;
  for (const Part& part : snapshot.parts()) {
    for (const float element : *part.as<float>()) {
      if (!value) value = element;
      EXPECT_EQ(element, *value) << part.name;
    }
  }
  return value.value_or(-1);
}

class ChannelsTest : public ::testing::Test {
 protected:
  void Begin(std::size_t nodes, directory::InProcessDirectory::Options directory =
                                    directory::InProcessDirectory::Patient()) {
    cluster_.emplace(testing::ClusterOptions{.nodes = nodes, .directory = std::move(directory)});
  }
  Channel Open(std::size_t node, std::uint32_t keep = 2) {
    return *cluster_->client(node).OpenChannel("it", {.keep = keep, .timeout = kInTime});
  }
  Channel Succeed(std::size_t node) {
    return *cluster_->client(node).OpenChannel("it", {.take_over = true, .timeout = kInTime});
  }
  Result<std::uint64_t> Publish(Channel& channel, float value,
                                std::optional<std::uint64_t> version = {}) {
    return channel.Publish(Weights(value).parts(),
                           {.version = version, .metadata = "of a test", .timeout = kInTime});
  }
  std::uint64_t ObjectCount() { return cluster_->client(0).Status(kSoon)->object_count(); }
  void AwaitObjects(std::uint64_t count) {
    ASSERT_TRUE(Eventually([&] { return ObjectCount() == count; }, kInTime))
        << ObjectCount() << " objects, not " << count;
  }

  std::optional<Cluster> cluster_;
};

TEST_F(ChannelsTest, EverybodyHasTheNewestVersion) {
  Begin(2);
  Channel trainer = Open(0);
  const Channel worker = Open(1);
  EXPECT_EQ(*worker.Latest(kSoon), std::nullopt);
  EXPECT_EQ(*Publish(trainer, 1), 1U);
  EXPECT_EQ(*Publish(trainer, 5, 5), 5U);
  EXPECT_EQ(*Publish(trainer, 6), 6U);
  const Snapshot got = *worker.Get(AtLeast(6));
  EXPECT_EQ(got.version(), 6);
  EXPECT_EQ(ValueOf(got), 6);
  EXPECT_EQ(got.metadata(), "of a test");
  EXPECT_EQ(got.parts()[0].name, "large");
  EXPECT_EQ(got.parts()[0].dtype, "float32");
  EXPECT_THAT(got.parts()[0].shape, ElementsAre(kLarge / 3, 3));
  ASSERT_NE(got.Find("small"), nullptr);
  EXPECT_EQ(got.Find("small")->metadata, "few");
  EXPECT_EQ(got.Find("medium"), nullptr);
  EXPECT_EQ(*worker.Latest(kSoon), 6);
}

TEST_F(ChannelsTest, WhoWaitsGetsTheVersionThatItWaitsFor) {
  Begin(2);
  Channel trainer = Open(0);
  const Channel worker = Open(1);
  const Future<Snapshot> third = worker.GetAsync(AtLeast(3));
  const Future<Snapshot> second = worker.GetAsync(Exactly(2));
  EXPECT_EQ(CodeOf(third.Wait(20ms)), ErrorCode::kTimeout);
  ASSERT_TRUE(Publish(trainer, 2, 2));
  EXPECT_EQ(ValueOf(*second.Wait()), 2);
  ASSERT_TRUE(Publish(trainer, 3, 3));
  EXPECT_EQ(third.Wait().value().version(), 3);
  const auto late = worker.Get(Exactly(2));
  EXPECT_EQ(CodeOf(late), ErrorCode::kNotFound);
  EXPECT_THAT(late.error().message, HasSubstr("version 2 is not the newest any more: that is 3"));
  EXPECT_EQ(CodeOf(worker.Get({.at_least = 4, .timeout = 20ms})), ErrorCode::kTimeout);
}

TEST_F(ChannelsTest, AWorkerFollowsAndNeverStepsBack) {
  Begin(2);
  constexpr std::uint64_t kLast = 30;
  Channel trainer = Open(0, 1);
  const Channel worker = Open(1);
  std::thread publishes([&] {
    for (std::uint64_t version = 1; version <= kLast; ++version) {
      ASSERT_TRUE(Publish(trainer, static_cast<float>(version), version));
    }
  });
  std::optional<Snapshot> last;
  while (!last || last->version() < kLast) {
    Result<Snapshot> next =
        worker.Get({.after = last ? std::optional(last->id()) : std::nullopt, .timeout = kInTime});
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(ValueOf(*next), static_cast<float>(next->version()));
    if (last) {
      EXPECT_GT(next->version(), last->version());
    }
    last = *std::move(next);
  }
  publishes.join();
}

TEST_F(ChannelsTest, WhatDidNotChangeIsNotSentAgain) {
  Begin(2);
  Channel trainer = Open(0);
  const Channel worker = Open(1);
  Weights weights(1);
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  const Snapshot first = *worker.Get(AtLeast(1));
  ASSERT_EQ(first.objects().size(), 1);
  weights.small() = {2, 2, 2};
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  const Snapshot second = *worker.Get(AtLeast(2));
  ASSERT_EQ(second.objects().size(), 2);
  EXPECT_EQ(second.objects()[1].id(), first.objects()[0].id());
  EXPECT_LT(second.objects()[0].size(), 1024);
  EXPECT_EQ(second.Find("large")->bytes.data(), first.Find("large")->bytes.data());
  EXPECT_EQ((*second.Find("small")->as<float>())[0], 2);
  // One element is enough to send the part again.
  weights.large().back() = 3;
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  const Snapshot third = *worker.Get(AtLeast(3));
  EXPECT_EQ(third.objects().size(), 1);
  EXPECT_EQ(third.Find("large")->as<float>()->back(), 3);
  // An object goes with the last kept version that has a part in it.
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  const Snapshot both = worker.Get(AtLeast(8)).value();
  EXPECT_EQ(both.objects().size(), 2);
  AwaitObjects(3);
}

// As a patch to what the reader's node has, or with that to who comes late; also where it is streamed.
TEST_F(ChannelsTest, OfAPartOfWhichLittleChangedThatIsSent) {
  Begin(2);
  Channel trainer = *cluster_->client(0).OpenChannel("it", {.deltas = true, .timeout = kInTime});
  const Channel worker = Open(1);
  Weights weights(1);
  for (std::uint64_t version = 1; version <= 20; ++version) {
    weights.large()[version * 1000] = 7;
    weights.large()[version] = 7;
    ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
    if (version < 10) continue;  // then it comes late
    const Snapshot got = *worker.Get(AtLeast(version));
    EXPECT_EQ(got.objects().size(), version);
    EXPECT_LT(got.objects().front().size(), 1024U);
    const std::span<const float> large = *got.Find("large")->as<float>();
    EXPECT_TRUE(std::ranges::equal(large, weights.large())) << version;
    SnapshotStream stream = *worker.Stream(AtLeast(version));
    const Part* streamed = *stream.Next(kInTime);
    EXPECT_TRUE(std::ranges::equal(*streamed->as<float>(), weights.large())) << version;
  }
  weights = Weights(3);
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  EXPECT_EQ(ValueOf(*worker.Get(AtLeast(21))), 3);
  const Snapshot one = worker.Get(AtLeast(21)).value();
  EXPECT_EQ(one.objects().size(), 1U);
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.timeout = kInTime}));
  AwaitObjects(3);  // two versions, and what both stand on
}

TEST_F(ChannelsTest, APartOfTwoNamesIsSentOnce) {
  Begin(1);
  Channel trainer = Open(0);
  const Weights tied(7);
  std::vector<Part> parts = tied.parts();
  parts.push_back(parts[0]);
  parts.back().name = "head";
  ASSERT_TRUE(trainer.Publish(parts, {.timeout = kInTime}));
  const Snapshot got = *trainer.Get(AtLeast(1));
  EXPECT_EQ(got.Find("head")->bytes.data(), got.Find("large")->bytes.data());
  EXPECT_LT(got.objects()[0].size(), 2 * kLarge * sizeof(float));
}

TEST_F(ChannelsTest, OldVersionsGoAndAllWithThePublisher) {
  Begin(2);
  {
    Channel trainer = Open(0);
    for (std::uint64_t version = 0; version < 50; ++version) {
      ASSERT_TRUE(Publish(trainer, static_cast<float>(version), version));
    }
    AwaitObjects(2);
  }
  AwaitObjects(0);
}

// Nothing of a channel stays when nobody has it open, nor of a version that is old.
TEST_F(ChannelsTest, ManyChannelsAndVersionsLeaveNothing) {
  Begin(2);
  Channel long_lived = Open(0);
  const Channel reader = Open(1);
  for (std::uint64_t version = 1; version <= kMany; ++version) {
    ASSERT_EQ(*Publish(long_lived, static_cast<float>(version % 1000)), version);
    Channel brief = *cluster_->client(version % 2).OpenChannel("brief " + std::to_string(version));
    ASSERT_TRUE(brief.Publish(std::vector<Part>{{.name = "nothing", .bytes = {}}}));
  }
  EXPECT_EQ(reader.Get(AtLeast(kMany)).value().version(), kMany);
  AwaitObjects(2);
  long_lived.Close();
  AwaitObjects(0);
  for (const std::string name : {"brief 1", "brief 2", "brief 300"}) {
    const auto info = cluster_->client(0).Info(ObjectId::FromName(name), kSoon);
    EXPECT_EQ(CodeOf(info), ErrorCode::kNotFound) << name;
  }
}

TEST_F(ChannelsTest, ASecondPublisherIsRefusedAndASuccessorFences) {
  Begin(3);
  Channel first = Open(0);
  const Channel reader = Open(2);
  ASSERT_TRUE(Publish(first, 9, 9));
  Channel second = Open(1);
  EXPECT_EQ(CodeOf(Publish(second, 1)), ErrorCode::kConflict);
  Channel successor = Succeed(1);
  EXPECT_EQ(CodeOf(Publish(first, 10)), ErrorCode::kConflict);
  EXPECT_EQ(ValueOf(*reader.Get(AtLeast(0))), 9) << "what was published stays";
  EXPECT_EQ(*Publish(successor, 4, 4), 4U) << "it may go on at its checkpoint";
  EXPECT_EQ(ValueOf(*reader.Get(AtLeast(0))), 4);
  EXPECT_EQ(CodeOf(Publish(first, 11)), ErrorCode::kConflict);
}

// As if the answer to a publish of the trainer's own had been lost.
TEST_F(ChannelsTest, AMoveOfItsOwnIsNoConflict) {
  Begin(1);
  Channel trainer = Open(0);
  ASSERT_TRUE(Publish(trainer, 1));
  const Register head = *cluster_->client(0).OpenRegister("it", kSoon);
  const auto move_on = [&](char version) {
    RegisterEntry entry = *head.Get(kSoon);
    entry.value[sizeof(client::Claim)] = version;
    ASSERT_TRUE(head.CompareAndSet(entry.number, entry.value)->written);
  };
  move_on(2);
  EXPECT_EQ(*Publish(trainer, 3), 3U);
  move_on(4);
  const auto refused = Publish(trainer, 4, 4);
  EXPECT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("version 4, the next one is 5"));
  EXPECT_EQ(*Publish(trainer, 5), 5U);
  EXPECT_EQ(ValueOf(*trainer.Get(AtLeast(5))), 5);
}

TEST_F(ChannelsTest, OfManyWhoPublishAtOnceOneIsThePublisher) {
  Begin(2);
  std::vector<Channel> channels;
  for (std::size_t i = 0; i < 6; ++i) channels.push_back(Open(i % 2));
  std::atomic<int> published = 0;
  std::vector<std::thread> threads;
  for (Channel& channel : channels) {
    threads.emplace_back([this, &channel, &published] {
      const auto version = Publish(channel, 1);
      if (version)
        ++published;
      else
        EXPECT_EQ(version.error().code, ErrorCode::kConflict);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(published, 1);
  EXPECT_EQ(ValueOf(*channels[0].Get(AtLeast(1))), 1);
  AwaitObjects(1);
}

TEST_F(ChannelsTest, WithoutRoomNothingIsPublishedAndWhatWasStays) {
  cluster_.emplace(testing::ClusterOptions{
      .nodes = 1,
      .memory_bytes = 1_MiB,
      .directory = directory::InProcessDirectory::Patient(),
  });
  Channel trainer = Open(0);
  ASSERT_TRUE(Publish(trainer, 1));
  const std::string large(2_MiB, 'x');
  const std::vector<Part> too_large{{.name = "x", .bytes = std::as_bytes(std::span(large))}};
  EXPECT_EQ(CodeOf(trainer.Publish(too_large, {.timeout = kInTime})),
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(ValueOf(*trainer.Get(AtLeast(1))), 1);
  EXPECT_EQ(*Publish(trainer, 2), 2U);
  EXPECT_EQ(ValueOf(*trainer.Get(AtLeast(2))), 2);
}

TEST_F(ChannelsTest, APublisherThatGoesIsMissedAndWaitedFor) {
  Begin(2);
  std::optional<Channel> trainer = Open(0);
  const Channel worker = Open(1);
  ASSERT_TRUE(Publish(*trainer, 7, 7));
  ASSERT_TRUE(worker.Get(AtLeast(7)));  // else the head may be forgotten with its publisher
  const Future<Snapshot> next = worker.GetAsync(AtLeast(8));
  const Future<Snapshot> patient =
      worker.GetAsync({.at_least = 8, .wait_for_successor = true, .timeout = kInTime});
  trainer->Close();
  EXPECT_EQ(CodeOf(Publish(*trainer, 8)), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(next.Wait()), ErrorCode::kPublisherGone);
  EXPECT_THAT(next.Wait().error().message, HasSubstr("its last version was 7"));
  Channel successor = Succeed(0);
  ASSERT_TRUE(Publish(successor, 8));
  EXPECT_EQ(ValueOf(*patient.Wait()), 8);
}

TEST_F(ChannelsTest, PartsAreReadWhileTheyArrive) {
  Begin(2);
  Channel trainer = Open(0);
  const Channel worker = Open(1);
  Weights weights(1);
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.metadata = "whole", .timeout = kInTime}));
  weights.small() = {2, 2, 2};
  ASSERT_TRUE(trainer.Publish(weights.parts(), {.metadata = "whole", .timeout = kInTime}));
  SnapshotStream stream = *worker.Stream(AtLeast(2));
  EXPECT_EQ(stream.version(), 2);
  EXPECT_EQ(stream.metadata(), "whole");
  const Part* large = *stream.Next(kInTime);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->name, "large");
  EXPECT_EQ(large->as<float>()->back(), 1);
  const Part* small = *stream.Next(kInTime);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->as<float>()->back(), 2);
  EXPECT_EQ(*stream.Next(kInTime), nullptr);
  EXPECT_EQ(CodeOf(worker.Stream({.at_least = 3, .timeout = 20ms})), ErrorCode::kTimeout);
}

TEST_F(ChannelsTest, WhatWaitsIsCancelledByCancelAndByClose) {
  Begin(1);
  Channel channel = Open(0);
  Future<Snapshot> one = channel.GetAsync();
  one.Cancel();
  EXPECT_EQ(CodeOf(one.Wait()), ErrorCode::kCancelled);
  const Future<Snapshot> other = channel.GetAsync();
  channel.Close();
  EXPECT_EQ(CodeOf(other.Wait()), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(channel.Get()), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(channel.Latest()), ErrorCode::kCancelled);
}

TEST_F(ChannelsTest, TheEndOfTheConnectionEndsWhatWaits) {
  Begin(1);
  Client client = cluster_->client(0);
  const Channel channel = *client.OpenChannel("it", {.timeout = kInTime});
  const Future<Snapshot> waits = channel.GetAsync();
  client.Close();
  EXPECT_EQ(CodeOf(waits.Wait()), ErrorCode::kCancelled);
}

TEST_F(ChannelsTest, BadInputIsNamed) {
  Begin(1);
  Channel channel = Open(0);
  EXPECT_THAT(cluster_->client(0).OpenChannel("it", {.keep = 0}).error().message,
              HasSubstr("keep is 0"));
  const std::vector<Part> twice{{.name = "w", .bytes = {}}, {.name = "w", .bytes = {}}};
  EXPECT_THAT(channel.Publish(twice).error().message, HasSubstr("two parts are named 'w'"));
  const std::vector<Part> unreadable{{.name = "\xff", .bytes = {}}};
  EXPECT_THAT(channel.Publish(unreadable).error().message, HasSubstr("no UTF-8"));
  ASSERT_TRUE(Publish(channel, 3, 3));
  const auto same = Publish(channel, 3, 3);
  EXPECT_EQ(CodeOf(same), ErrorCode::kInvalidArgument);
  EXPECT_THAT(same.error().message, HasSubstr("the next one is 4"));
  const Register other = *cluster_->client(0).OpenRegister("other", kSoon);
  ASSERT_TRUE(other.CompareAndSet({}, "x"));
  const Channel none = *cluster_->client(0).OpenChannel("other", {.timeout = kInTime});
  EXPECT_THAT(none.Get(AtLeast(0)).error().message, HasSubstr("holds no channel's head"));
}

// A version that a program of no channel put.
TEST_F(ChannelsTest, AnObjectThatIsNoVersionIsNamed) {
  Begin(1);
  Client client = cluster_->client(0);
  const Register head = *client.OpenRegister("it", kSoon);
  for (const std::string& bytes :
       {std::string("short"), std::string(200, '\xff'), std::string(64, '\0') + "parts"}) {
    const ObjectId object = *client.Put(bytes, {.owned = true});
    std::string packed(24, '\1');
    packed += object.view();
    ASSERT_TRUE(head.CompareAndSet(head.Get(kSoon)->number, packed)->written);
    const Channel reader = Open(0);
    const auto got = reader.Get({.timeout = kInTime});
    if (got) {
      EXPECT_EQ(got->parts().size(), 0) << bytes;
    } else {
      EXPECT_THAT(got.error().message, HasSubstr("no version of a channel"));
    }
    const auto stream = reader.Stream({.timeout = kInTime});
    EXPECT_EQ(stream.has_value(), got.has_value());
  }
}

}  // namespace
}  // namespace hoplite
