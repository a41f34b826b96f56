// A link to a shard that the test plays: sessions that begin, fall silent, and end.
#include "directory/shard_link.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <asio/post.hpp>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/virtual_time.h"
#include "directory/directory_service.h"
#include "directory/patience.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;

// Welcomes whoever says Hello and acknowledges heartbeats, unless told otherwise.
class PlayedShard final : public ShardPort {
 public:
  explicit PlayedShard(asio::io_context& loop) : loop_(loop) {}

  std::unique_ptr<Connection> Open(const std::string& /*member*/, wire::Hello hello,
                                   std::function<void(wire::ShardMessage)> receive) override {
    ++opened;
    hello_id = hello.shard_id;
    holds = hello.holds;
    receive_ = std::move(receive);
    if (refusal) {
      Say({.ended = wire::Ended{.error = *refusal, .retry = retry}});
    } else {
      Say({.welcome = wire::Welcome{.incarnation = 1,
                                    .heartbeat = 10ms,
                                    .lease = lease,
                                    .tombstone = 60s,
                                    .shard_id = 5,
                                    .inline_limit_bytes = 4096}});
    }
    return std::make_unique<Played>(*this);
  }
  void Find(const ObjectId&, Duration, std::function<void(Result<protocol::ObjectView>)>) override {
  }
  void Status(const protocol::PageRequest&, Duration,
              std::function<void(Result<protocol::StatusPage>)>) override {}
  void Stop() override {}

  static constexpr Duration lease = 400ms;
  bool acknowledges = true;
  Duration answers_after{0};
  std::optional<Error> refusal;
  bool retry = true;
  std::uint64_t hello_id = 0;  // of the last Hello
  bool holds = false;
  int opened = 0;
  int closed = 0;
  int heartbeats = 0;
  int answered = 0;
  std::vector<std::size_t> words;  // of each message that had some

 private:
  class Played final : public Connection {
   public:
    explicit Played(PlayedShard& shard) : shard_(shard) {}
    void Send(wire::NodeMessage message) override {
      if (!message.events.empty()) shard_.words.push_back(message.events.size());
      if (!message.heartbeat) return;
      ++shard_.heartbeats;
      if (shard_.acknowledges) shard_.Acknowledge(*message.heartbeat);
    }
    void Close() override { ++shard_.closed; }

   private:
    PlayedShard& shard_;
  };

  void Acknowledge(std::uint64_t heartbeat) {
    VirtualTime::OfThisThread()->After(answers_after, [this, heartbeat] {
      ++answered;
      Say({.heartbeat_ack = heartbeat});
    });
  }
  void Say(wire::ShardMessage message) {
    asio::post(loop_, [receive = receive_, message = std::move(message)] { receive(message); });
  }

  asio::io_context& loop_;
  std::function<void(wire::ShardMessage)> receive_;
};

class ShardLinkTest : public testing::Test {
 protected:
  ShardLinkTest() {
    hooks_.on_action = [](const auto&) {};
    hooks_.inventory = [](auto&&...) { return DirectoryClient::Part(); };
    hooks_.on_session = [this](std::size_t, bool open) { told_ += open ? "open " : "away "; };
    hooks_.on_settled = [this](std::size_t) { told_ += "settled "; };
    hooks_.on_refused = [this](const Error& error) {
      told_ += std::string(Name(error.code)) + " ";
    };
    hooks_.on_lost = [this](std::size_t) { told_ += "lost "; };
    link_ = std::make_shared<ShardLink>(loop_, shard_, wire::Hello{}, known_, hooks_, times_);
  }
  ~ShardLinkTest() override { link_->Stop(); }

  bool RunUntil(const std::function<bool()>& condition) {
    const Time deadline = Now() + 20s;
    while (!condition() && Now() < deadline) {
      loop_.restart();
      if (loop_.poll_one() > 0) continue;
      if (time_.next() > deadline) break;
      time_.Step();
    }
    return condition();
  }

  VirtualTime time_;
  asio::io_context loop_{1};
  PlayedShard shard_{loop_};
  ShardIds known_{0, 0};
  DirectoryClient::Hooks hooks_;
  const LinkTimes times_{.first_pause = 1ms, .longest_pause = 10ms, .name_in_use = 100ms};
  std::shared_ptr<ShardLink> link_;
  std::string told_;
};

// Else whoever is started again on a machine that lost its power is refused for good.
TEST(LinkTimesTest, ANameIsAskedForForLongerThanItsOwnersSilenceIsBorne) {
  const Duration lease = ServiceOptions().lease;
  Patience patience;
  patience.Heard(2 * lease, Time{});
  const LinkTimes times;
  EXPECT_GT(times.name_in_use, patience.With(lease, Time{}) + times.longest_pause);
}

// A lease has two sides: a shard that acknowledges nothing has given this node up, or hangs.
TEST_F(ShardLinkTest, EndsASessionWhoseHeartbeatsAreNotAcknowledged) {
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return shard_.heartbeats >= 5; }));
  EXPECT_EQ(told_, "open settled ");
  shard_.acknowledges = false;
  const Time silent = Now();
  ASSERT_TRUE(RunUntil([&] { return shard_.opened == 2; }));
  EXPECT_GE(Now() - silent, PlayedShard::lease - 50ms);
  EXPECT_EQ(shard_.closed, 1);
  shard_.acknowledges = true;
  ASSERT_TRUE(RunUntil([&] { return link_->open(); }));
  // Its welcome did not remember this node.
  EXPECT_EQ(told_, "open settled away lost open ");
}

TEST_F(ShardLinkTest, KnowsTheLimitOfTheLastWelcome) {
  EXPECT_EQ(link_->inline_limit(), kMaxInlineBytes) << "any shard may keep as much";
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return link_->open(); }));
  EXPECT_EQ(link_->inline_limit(), 4096u);
  shard_.acknowledges = false;
  ASSERT_TRUE(RunUntil([&] { return !link_->open(); }));
  EXPECT_EQ(link_->inline_limit(), 4096u);
}

// One that computes for others, too, on too few processors: it answers late, then not for more than
// a lease, but it is there.
TEST_F(ShardLinkTest, WaitsLongerForAShardWhoseAnswersCameLate) {
  shard_.answers_after = PlayedShard::lease / 2;
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return shard_.answered >= 3; }));
  shard_.acknowledges = false;
  const Time silent = Now();
  ASSERT_TRUE(RunUntil([&] { return Now() - silent > PlayedShard::lease * 3 / 2; }));
  EXPECT_EQ(shard_.closed, 0);
  ASSERT_TRUE(RunUntil([&] { return shard_.opened == 2; }));
  EXPECT_LT(Now() - silent, PlayedShard::lease * 6);
}

// The machine was suspended, or had other work: the acknowledgements of that time lie ready.
TEST_F(ShardLinkTest, DoesNotTakeItsOwnLatenessForTheShardsSilence) {
  shard_.answers_after = 15ms;  // the next heartbeat is due before
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return shard_.answered >= 3; }));
  loop_.poll();
  time_.Pass(PlayedShard::lease * 10);
  const Time awake = Now();
  ASSERT_TRUE(RunUntil([&] { return Now() - awake > PlayedShard::lease; }));
  EXPECT_EQ(shard_.closed, 0);
}

TEST_F(ShardLinkTest, SettlesAtAShardThatCannotBeReachedAndGoesOnTrying) {
  shard_.refusal = Error(ErrorCode::kUnavailable, "nobody listens there");
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return shard_.opened >= 3; }));
  EXPECT_EQ(told_, "settled ");
  shard_.refusal.reset();
  ASSERT_TRUE(RunUntil([&] { return link_->open(); }));
  EXPECT_EQ(told_, "settled open ");
}

// The name may be that of a node whose death is not noticed yet, so the link neither gives up nor
// starts.
TEST_F(ShardLinkTest, AsksAgainForANameInUseAndThenGivesUp) {
  shard_.refusal = Error(ErrorCode::kAlreadyExists, "the name is in use");
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return shard_.opened >= 3; }));
  EXPECT_EQ(told_, "");
  ASSERT_TRUE(RunUntil([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, "already_exists ");
}

// The node knows its cluster from another shard, and has copies that would be lost with it.
TEST_F(ShardLinkTest, ANodeThatWasWelcomeAnywhereWaitsWithItsObjects) {
  known_[1] = 7;
  hooks_.holds = [](std::size_t) { return true; };
  shard_.refusal = Error(ErrorCode::kInvalidArgument, "another cluster");
  shard_.retry = false;
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return shard_.opened >= 3 || told_ != ""; }));
  EXPECT_EQ(told_, "settled ");
  EXPECT_EQ(link_->why_away().value().message, "another cluster");
}

// Copies of other shards' objects say nothing of this one's past (R44), but would be lost all the
// same if the node left.
TEST_F(ShardLinkTest, RepeatsTheShardsIdAndSaysWhetherCopiesAreOfItsObjects) {
  bool holds_of_this_shard = false;
  known_[1] = 7;
  hooks_.holds = [&](std::size_t shard) { return shard == 1 || holds_of_this_shard; };
  const auto meets_again = [&] {
    const int before = shard_.opened;
    shard_.acknowledges = false;
    const bool again = RunUntil([&] { return shard_.opened > before; });
    shard_.acknowledges = true;
    return again && RunUntil([&] { return link_->open() || shard_.refusal; });
  };
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return link_->open(); }));
  EXPECT_EQ(shard_.hello_id, 0u);
  EXPECT_FALSE(shard_.holds);
  holds_of_this_shard = true;
  ASSERT_TRUE(meets_again());
  EXPECT_EQ(shard_.hello_id, 5u);
  EXPECT_TRUE(shard_.holds);
  holds_of_this_shard = false;
  ASSERT_TRUE(meets_again());
  EXPECT_FALSE(shard_.holds);
  shard_.refusal = Error(ErrorCode::kInvalidArgument, "another cluster");
  shard_.retry = false;
  ASSERT_TRUE(meets_again());
  ASSERT_TRUE(RunUntil([&] { return shard_.opened >= 6; })) << "it stays";
  EXPECT_EQ(link_->why_away().value().message, "another cluster");
}

TEST_F(ShardLinkTest, ANodeThatWasNeverWelcomeLeaves) {
  hooks_.holds = [](std::size_t) { return true; };
  shard_.refusal = Error(ErrorCode::kInvalidArgument, "another cluster");
  shard_.retry = false;
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return told_ != ""; }));
  EXPECT_EQ(told_, "invalid_argument ");
}

// A part may cover thousands of objects and have nothing to say of them; the loop has other work.
TEST_F(ShardLinkTest, PartsThatSayNothingAreNotAskedForInOneGo) {
  constexpr int kParts = 100;
  int asked = 0;
  int most_at_once = 0;
  int at_once = 0;
  const auto nothing = [&](std::size_t, const std::optional<ObjectId>&, std::size_t) {
    most_at_once = std::max(most_at_once, ++at_once);
    if (++asked % kParts == 0) return DirectoryClient::Part();
    return DirectoryClient::Part{.events = {}, .reached = ObjectId::FromName("x")};
  };
  hooks_.inventory = [&](std::size_t shard, const auto& after, std::size_t bytes, const auto&) {
    return nothing(shard, after, bytes);
  };
  hooks_.inline_bytes = nothing;
  link_->Start();
  RunUntil([&] {
    at_once = 0;
    return asked >= 2 * kParts;
  });
  EXPECT_EQ(asked, 2 * kParts);
  EXPECT_LE(most_at_once, 2);
}

// A node that asks for many objects at once asks for all before the first bytes flow.
TEST_F(ShardLinkTest, WhatIsSaidInOneTurnTravelsTogether) {
  link_->Start();
  ASSERT_TRUE(RunUntil([&] { return told_ == "open settled "; })) << told_;
  shard_.words.clear();
  for (const char* name : {"a", "b", "c"}) {
    asio::post(loop_, [this, name] { link_->Send(protocol::Locate{ObjectId::FromName(name)}); });
  }
  ASSERT_TRUE(RunUntil([&] { return !shard_.words.empty(); }));
  EXPECT_EQ(shard_.words, (std::vector<std::size_t>{3}));
}

}  // namespace
}  // namespace hoplite::directory
