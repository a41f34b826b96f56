// A link to a shard with several members, which the test plays: who holds it, who stands by, and who
// is away.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <asio/post.hpp>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/virtual_time.h"
#include "directory/shard_link.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kMembers{"a:1", "b:1", "c:1"};

class PlayedMembers final : public ShardPort {
 public:
  enum class Does { kHolds, kStandsBy, kRefuses, kIsSilent };

  explicit PlayedMembers(asio::io_context& loop) : loop_(loop) {}

  std::vector<std::string> members() const override { return list; }
  std::unique_ptr<Connection> Open(const std::string& member, wire::Hello /*hello*/,
                                   std::function<void(wire::ShardMessage)> receive) override {
    opened += member.substr(0, 1);
    at = Now();
    receive_ = std::move(receive);
    switch (does[member]) {
      case Does::kHolds:
        Welcome();
        break;
      case Does::kStandsBy:
        EndSession();
        break;
      case Does::kRefuses:
        Say({.ended = wire::Ended{.error = {ErrorCode::kUnavailable,
                                            "cannot connect to 10.0.0.1:1: Connection refused"}}});
        break;
      case Does::kIsSilent:
        break;
    }
    return std::make_unique<Played>(*this);
  }
  void Find(const ObjectId&, Duration, std::function<void(Result<protocol::ObjectView>)>) override {
  }
  void Status(const protocol::PageRequest&, Duration,
              std::function<void(Result<protocol::StatusPage>)>) override {}
  void Stop() override {}

  void EndSession() {
    Say({.ended = wire::Ended{.error = {ErrorCode::kUnavailable, "it stands by"},
                              .members = {.addresses = kMembers, .holder = holder}}});
  }

  std::vector<std::string> list = kMembers;
  std::map<std::string, Does> does;
  std::string holder;  // whom those name that stand by
  std::string opened;  // the first letters, in turn
  Time at{};           // of the last
  bool acknowledges = true;

 private:
  class Played final : public Connection {
   public:
    explicit Played(PlayedMembers& shard) : shard_(shard) {}
    void Send(wire::NodeMessage message) override {
      if (message.heartbeat && shard_.acknowledges)
        shard_.Say({.heartbeat_ack = message.heartbeat});
    }
    void Close() override {}

   private:
    PlayedMembers& shard_;
  };

  void Welcome() {
    Say({.welcome = wire::Welcome{.incarnation = 1,
                                  .heartbeat = 10ms,
                                  .lease = 400ms,
                                  .tombstone = 60s,
                                  .shard_id = 5,
                                  .members = {.addresses = kMembers}}});
  }
  void Say(wire::ShardMessage message) {
    asio::post(loop_, [receive = receive_, message = std::move(message)] { receive(message); });
  }

  asio::io_context& loop_;
  std::function<void(wire::ShardMessage)> receive_;
};

using enum PlayedMembers::Does;

class ShardMembersTest : public testing::Test {
 protected:
  ShardMembersTest() {
    hooks_.on_action = [](const auto&) {};
    hooks_.inventory = [](auto&&...) { return DirectoryClient::Part(); };
    hooks_.on_session = [this](std::size_t, bool open) { told_ += open ? "open " : "away "; };
    hooks_.on_settled = [this](std::size_t) { told_ += "settled "; };
  }
  ~ShardMembersTest() override { link_->Stop(); }

  void Start(PlayedMembers::Does a, PlayedMembers::Does b, PlayedMembers::Does c) {
    Let(a, b, c);
    link_ = std::make_shared<ShardLink>(loop_, shard_, wire::Hello{}, known_, hooks_, LinkTimes());
    link_->Start();
  }
  void Let(PlayedMembers::Does a, PlayedMembers::Does b, PlayedMembers::Does c) {
    shard_.does = {{"a:1", a}, {"b:1", b}, {"c:1", c}};
  }
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
  bool RunUntilOpen() {
    return RunUntil([this] { return link_->open(); });
  }
  // Some heartbeats later.
  void RunOn() {
    const Time until = Now() + 50ms;
    RunUntil([&] { return Now() >= until; });
  }
  bool RunUntilOpened(std::size_t count) {
    return RunUntil([&] { return shard_.opened.size() >= count; });
  }

  VirtualTime time_;
  asio::io_context loop_{1};
  PlayedMembers shard_{loop_};
  ShardIds known_{0};
  DirectoryClient::Hooks hooks_;
  std::shared_ptr<ShardLink> link_;
  std::string told_;
};

TEST_F(ShardMembersTest, GoesToTheHolderThatAMemberNames) {
  shard_.holder = "c:1";
  Start(kStandsBy, kStandsBy, kHolds);
  const Time begin = Now();
  ASSERT_TRUE(RunUntilOpen());
  EXPECT_EQ(shard_.opened, "ac");
  EXPECT_EQ(told_, "open settled ") << "the shard was not away meanwhile";
  EXPECT_LT(Now() - begin, 10ms);
}

TEST_F(ShardMembersTest, ASilentMemberMakesRoomAfter300Ms) {
  Start(kIsSilent, kHolds, kStandsBy);
  const Time begin = Now();
  ASSERT_TRUE(RunUntilOpen());
  EXPECT_EQ(shard_.opened, "ab");
  EXPECT_GE(Now() - begin, 300ms);
  EXPECT_LT(Now() - begin, 310ms);
}

TEST_F(ShardMembersTest, GoesRoundAndRoundWithAPause) {
  Start(kRefuses, kRefuses, kRefuses);
  ASSERT_TRUE(RunUntilOpened(30));
  const Time late = shard_.at;
  ASSERT_TRUE(RunUntilOpened(31));
  EXPECT_EQ(shard_.opened.substr(0, 9), "abcabcabc");
  EXPECT_EQ(shard_.at - late, 100ms);
  EXPECT_EQ(told_, "settled ");
}

TEST_F(ShardMembersTest, IsAwayWhenARoundHasEnded) {
  Start(kStandsBy, kRefuses, kRefuses);
  ASSERT_TRUE(RunUntil([&] { return told_ == "settled "; }));
  EXPECT_EQ(shard_.opened, "abc");
  EXPECT_EQ(link_->why_away().value().message,
            "1 of 3 members answers (b:1, c:1: Connection refused)");
  Let(kStandsBy, kHolds, kRefuses);
  ASSERT_TRUE(RunUntilOpen());
  EXPECT_FALSE(link_->why_away().has_value());
}

// An upgrade: the holder ends all sessions with its successor's address.
TEST_F(ShardMembersTest, ASessionThatIsHandedOverGoesOnAtOnce) {
  Start(kHolds, kStandsBy, kStandsBy);
  ASSERT_TRUE(RunUntilOpen());
  RunOn();
  Let(kStandsBy, kHolds, kStandsBy);
  shard_.holder = "b:1";
  shard_.EndSession();
  const Time end = Now();
  ASSERT_TRUE(RunUntil([&] { return !link_->open(); }));
  ASSERT_TRUE(RunUntilOpen());
  EXPECT_EQ(shard_.opened, "ab");
  EXPECT_LT(Now() - end, 10ms);
}

TEST_F(ShardMembersTest, AfterALongSessionItsHolderIsTriedFirst) {
  Start(kRefuses, kHolds, kRefuses);
  ASSERT_TRUE(RunUntilOpen());
  RunOn();
  shard_.acknowledges = false;
  ASSERT_TRUE(RunUntil([&] { return !link_->open(); }));
  Let(kRefuses, kRefuses, kHolds);
  ASSERT_TRUE(RunUntilOpen());
  EXPECT_EQ(shard_.opened, "abbac");
}

// Two that were told of each other must not make the node ask them without a pause.
TEST_F(ShardMembersTest, MembersThatNameEachOtherAreAskedOnceInARound) {
  shard_.holder = "b:1";
  Start(kStandsBy, kStandsBy, kStandsBy);
  ASSERT_TRUE(RunUntilOpened(40));
  const Time from = shard_.at;
  ASSERT_TRUE(RunUntilOpened(70));
  EXPECT_GE(shard_.at - from, 900ms) << "three in each tenth of a second";
}

TEST_F(ShardMembersTest, ANodeWithAnOldListTakesTheListOfWelcome) {
  shard_.list = {"a:1"};
  Start(kHolds, kStandsBy, kStandsBy);
  ASSERT_TRUE(RunUntilOpen());
  RunOn();
  Let(kRefuses, kHolds, kStandsBy);
  shard_.acknowledges = false;
  ASSERT_TRUE(RunUntil([&] { return !link_->open(); }));
  ASSERT_TRUE(RunUntilOpen());
  EXPECT_EQ(shard_.opened, "aab");
}

}  // namespace
}  // namespace hoplite::directory
