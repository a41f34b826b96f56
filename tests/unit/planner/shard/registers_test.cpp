// What a shard decides about registers: R90-R96, where sim/session_world has no room.
#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ObjectId kRegister = ObjectId::FromName("it");
constexpr NodeId kWriterNode{1};
constexpr NodeId kReaderNode{2};
constexpr NodeId kThirdNode{3};

Version Number(std::uint64_t incarnation, std::uint64_t sequence) {
  return {{incarnation, sequence}};
}

class Shard {
 public:
  explicit Shard(DirectoryOptions options = New()) : state_(options, now_) {}

  static DirectoryOptions New() {
    DirectoryOptions options;
    options.recovery_window = Duration{0};
    return options;
  }
  // Started again: some nodes may know of registers.
  static DirectoryOptions Again() {
    DirectoryOptions options;
    options.incarnation = 5;
    options.recovery_window = milliseconds(1);
    return options;
  }

  void Join(NodeId node) {
    Tell(NodeJoined{.node = {node, std::to_string(Raw(node)), "x:1"}});
    Tell(NodeSaid{node, InventoryEnd{}});
  }
  void Say(NodeId node, RegisterUse use) {
    if (use.object == ObjectId()) use.object = kRegister;
    use.number = ++number_;
    use.open = true;
    Tell(NodeSaid{node, use});
  }
  void Write(NodeId node, Version expected, const std::string& value) {
    Say(node, {.call = RegisterCall{number_ + 1, CompareAndSet{expected, value}}});
  }
  void Tell(const EventBody& event) { state_.Apply({now_, event}); }
  void Pass(Duration time) { now_ += time; }
  // What is said now, to this node.
  std::vector<RegisterNews> To(NodeId node) {
    std::vector<Action> actions;
    state_.Plan(now_, actions);
    EXPECT_EQ(state_.BrokenInvariant(), "");
    std::vector<RegisterNews> news;
    for (const Action& action : actions) {
      if (action.to == node) news.push_back(std::get<RegisterNews>(action.body));
    }
    return news;
  }
  // The shard is called whenever it asks to be, until then.
  void Work(Duration time) {
    const Time until = now_ + time;
    std::vector<Action> actions;
    for (Time next = state_.Plan(now_, actions); next <= until; next = state_.Plan(now_, actions)) {
      now_ = std::max(next, now_ + milliseconds(1));
    }
    now_ = until;
    for (const Action& action : actions) early_ += action.to == kWriterNode ? 1 : 0;
  }

  int early_ = 0;  // words to A meanwhile
  std::uint64_t number_ = 0;
  Time now_ = Time(std::chrono::hours(1));
  DirectoryState state_;
};

bool Answered(const std::vector<RegisterNews>& news) {
  return std::ranges::any_of(news, [](const RegisterNews& one) { return one.call != 0; });
}

TEST(Registers, ANodeMayHaveSoManyOpen) {
  DirectoryOptions options = Shard::New();
  options.register_limit = 1;
  Shard shard(options);
  shard.Join(kWriterNode);
  shard.Say(kWriterNode, {.knows = RegisterContents()});
  shard.Say(kWriterNode, {.object = ObjectId::FromName("other"), .knows = RegisterContents()});
  const auto news = shard.To(kWriterNode);
  ASSERT_THAT(news, SizeIs(2));
  EXPECT_EQ(news[0].outcome, RegisterOutcome::kLimit);
  EXPECT_EQ(news[0].object, ObjectId::FromName("other"));
  EXPECT_EQ(news[1].outcome, RegisterOutcome::kNews);
}

TEST(Registers, TheHighestNumberIsTheRegisters) {
  Shard shard;
  shard.Join(kWriterNode);
  shard.Join(kReaderNode);
  shard.Say(kWriterNode, {.knows = RegisterContents{.version = Number(3, 7), .value = "later"}});
  shard.Say(kReaderNode, {.knows = RegisterContents{.version = Number(3, 6), .value = "sooner"}});
  EXPECT_EQ(shard.state_.Register(kRegister)->entry.value, "later");
  EXPECT_THAT(shard.To(kReaderNode), SizeIs(1));
  shard.Write(kReaderNode, Number(3, 7), "new");
  const auto news = shard.To(kReaderNode);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].outcome, RegisterOutcome::kWritten);
  EXPECT_GT(news[0].entry.version, Number(3, 7)) << "R90";
}

TEST(Registers, AStartedShardAnswersWhenALostNodeHadTheTimeToTell) {
  Shard shard(Shard::Again());
  shard.Join(kWriterNode);
  shard.Say(kWriterNode,
            {.knows = RegisterContents{.version = Number(3, 7)}, .call = RegisterCall{9}});
  shard.Work(milliseconds(1900));
  EXPECT_EQ(shard.early_, 0);
  shard.Join(kReaderNode);
  shard.Say(kReaderNode, {.knows = RegisterContents{.version = Number(3, 8)}});
  shard.Pass(milliseconds(100));
  const auto news = shard.To(kWriterNode);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].entry.version, Number(3, 8));
}

// No node can reach it while it stands still.
TEST(Registers, AShardThatWasStoppedWaitsForLonger) {
  Shard shard(Shard::Again());
  shard.Join(kWriterNode);
  shard.Say(kWriterNode, {.knows = RegisterContents(), .call = RegisterCall{9}});
  shard.Work(seconds(1));
  shard.Pass(seconds(10));
  EXPECT_THAT(shard.To(kWriterNode), IsEmpty());
  shard.Work(milliseconds(990));
  EXPECT_EQ(shard.early_, 0);
  shard.Work(milliseconds(1100));
  EXPECT_EQ(shard.early_, 1);
}

TEST(Registers, IsForgottenWithTheLastThatHasItOpen) {
  Shard shard;
  shard.Join(kWriterNode);
  shard.Join(kReaderNode);
  shard.Say(kWriterNode, {.knows = RegisterContents()});
  shard.Say(kReaderNode, {.knows = RegisterContents()});
  shard.Write(kWriterNode, {}, "a");
  shard.To(kWriterNode);
  shard.Tell(NodeSaid{kWriterNode, RegisterUse{.object = kRegister, .number = 99}});
  EXPECT_EQ(shard.state_.Register(kRegister)->nodes, 1u);
  shard.Tell(NodeSuspended{kReaderNode});
  EXPECT_EQ(shard.state_.Register(kRegister)->entry.value, "a") << "it may come back";
  shard.Tell(NodeLost{kReaderNode});
  EXPECT_FALSE(shard.state_.Register(kRegister));
}

// Also while it waits for the writer before; and a claim that follows waits for it.
TEST(Registers, AClaimThatWasDoneIsAnsweredSoWhateverWasWrittenOverIt) {
  Shard shard;
  for (const NodeId node : {kWriterNode, kReaderNode, kThirdNode}) {
    shard.Join(node);
    shard.Say(node, {.knows = RegisterContents()});
  }
  const auto claim = [&](NodeId node, Version expected) {
    const CompareAndSet write{.expected = expected, .value = "claimed", .claims = true};
    const RegisterCall call{shard.number_ + 1, write};
    shard.Say(node, {.call = call});
    return call;
  };
  claim(kWriterNode, {});
  const Version first = shard.To(kWriterNode).back().entry.version;
  shard.Say(kWriterNode, {.claim = first});
  const RegisterCall second_call = claim(kReaderNode, first);
  const auto seen = shard.To(kThirdNode);
  const Version second = seen.back().entry.version;
  EXPECT_TRUE(seen.back().writer);
  shard.Write(kThirdNode, second, "over it");
  const auto over = shard.To(kThirdNode);
  ASSERT_EQ(over.back().outcome, RegisterOutcome::kWritten);
  EXPECT_TRUE(over.back().writer) << "who is to hear that it is";
  const RegisterCall third_call = claim(kThirdNode, over.back().entry.version);
  EXPECT_FALSE(Answered(shard.To(kThirdNode))) << "two are to hear first";
  // The session breaks meanwhile, and the call comes again.
  shard.Tell(NodeSuspended{kReaderNode});
  shard.Say(kWriterNode, {});
  EXPECT_FALSE(Answered(shard.To(kThirdNode)));
  shard.Tell(NodeJoined{.node = {kReaderNode, "again", "x:1"}});
  shard.Say(kReaderNode, {.knows = RegisterContents(), .call = second_call});
  const auto heard = shard.To(kReaderNode);
  ASSERT_THAT(heard, SizeIs(2));
  EXPECT_EQ(heard[0].outcome, RegisterOutcome::kWritten);
  EXPECT_EQ(heard[0].entry.version, second);
  EXPECT_EQ(heard[0].entry.claim, second);
  EXPECT_EQ(heard[0].entry.value, "claimed");
  EXPECT_GT(heard[1].entry.version, second) << "what it holds now is news";
  EXPECT_FALSE(Answered(shard.To(kThirdNode)));
  shard.Say(kReaderNode, {});
  const auto third = shard.To(kThirdNode);
  ASSERT_THAT(third, SizeIs(1));
  EXPECT_EQ(third[0].outcome, RegisterOutcome::kWritten);
  EXPECT_EQ(third[0].call, third_call.number);
}

TEST(Registers, WhoEveryWriterIsIsNews) {
  Shard shard;
  shard.Join(kWriterNode);
  shard.Join(kReaderNode);
  shard.Say(kWriterNode, {.knows = RegisterContents()});
  shard.Say(kReaderNode, {.knows = RegisterContents()});
  shard.To(kWriterNode);
  shard.Say(kReaderNode, {.call = RegisterCall{9, CompareAndSet{.value = "b", .claims = true}}});
  const auto claimed = shard.To(kWriterNode);
  ASSERT_THAT(claimed, SizeIs(1));
  EXPECT_TRUE(claimed[0].writer);
  shard.Say(kReaderNode, {.claim = claimed[0].entry.claim});
  EXPECT_THAT(shard.To(kWriterNode), IsEmpty()) << "nothing has changed";
  shard.Say(kReaderNode, {});
  const auto gone = shard.To(kWriterNode);
  ASSERT_THAT(gone, SizeIs(1));
  EXPECT_FALSE(gone[0].writer);
}

}  // namespace
}  // namespace hoplite::planner
