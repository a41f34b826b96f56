// What a node that is drained asks and whom it names (R70).
#include "planner/node/drain_state.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::planner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const Version kVersion{{1, 1}};
constexpr NodeId kOne{1};
constexpr NodeId kTwo{2};

class DrainStateTest : public ::testing::Test {
 protected:
  static ObjectId Named(const std::string& name) { return ObjectId::FromName(name); }
  void Add(const std::string& name, std::uint64_t bytes = 1_MiB) {
    names_[Named(name)] = name;
    state_.Add({Named(name), kVersion, bytes}, now_);
  }
  // What is asked now, with the takers: "x", "x for 2".
  std::vector<std::string> Step() {
    const DrainState::Effects effects = state_.Step(now_, [this](const ObjectId&) { return fed_; });
    looks_for_peers_ = effects.look_for_peers;
    next_ = effects.next;
    std::vector<std::string> asked;
    for (const protocol::EvictAsk& ask : effects.ask) {
      const std::string& name = names_.at(ask.object);
      asked.push_back(ask.taker == kNoNode ? name : fmt::format("{} for {}", name, Raw(ask.taker)));
    }
    return asked;
  }
  void Answer(const std::string& name, bool drop) {
    state_.OnAnswer({Named(name), kVersion, drop}, now_);
  }
  void Peers(std::uint64_t free_at_one, std::uint64_t free_at_two) {
    state_.OnPeers(
        {{kOne, "n1", 10_MiB, 10_MiB - free_at_one}, {kTwo, "n2", 10_MiB, 10_MiB - free_at_two}},
        now_);
  }
  // The shard has said that this is the last copy, and the first taker is named.
  void Offer(const std::string& name) {
    Add(name);
    Step();
    Answer(name, false);
    Step();
    Step();
  }
  Error WhyLeft() const { return state_.outcome().left.at(0).why; }

  DrainState state_;
  std::map<ObjectId, std::string> names_;
  Time now_ = Time{} + 1s;
  Time next_{};
  bool fed_ = false;
  bool looks_for_peers_ = false;
};

TEST_F(DrainStateTest, WhatOthersHaveGoesAndIsNotCounted) {
  Add("x");
  EXPECT_THAT(Step(), ElementsAre("x"));
  Answer("x", true);
  EXPECT_TRUE(state_.empty());
  EXPECT_EQ(state_.outcome().handed_on, 0u);
}

TEST_F(DrainStateTest, TheLastCopyIsOfferedToTheNodeWithMostRoomAndCountedWhenItIsReleased) {
  Add("x");
  Step();
  Answer("x", false);
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_TRUE(looks_for_peers_);
  Peers(2_MiB, 5_MiB);
  EXPECT_THAT(Step(), ElementsAre("x for 2"));
  Answer("x", false);
  EXPECT_THAT(Step(), IsEmpty());
  now_ = next_;
  EXPECT_THAT(Step(), ElementsAre("x")) << "whether it has it by now";
  Answer("x", true);
  EXPECT_TRUE(state_.empty());
  EXPECT_EQ(state_.outcome().handed_on, 1u);
}

TEST_F(DrainStateTest, ADiskIsRoomWhereNoMemoryIsFree) {
  const auto free_at_two = [&](std::uint64_t bytes) {
    state_.OnPeers({{kOne, "n1", 10_MiB, 10_MiB, 8_MiB}, {kTwo, "n2", 10_MiB, 10_MiB - bytes, 0}},
                   now_);
  };
  free_at_two(2_MiB);
  Add("x");
  Step();
  Answer("x", false);
  EXPECT_THAT(Step(), ElementsAre("x for 2")) << "memory comes first";
  free_at_two(0);
  Add("y");
  Step();
  Answer("y", false);
  EXPECT_THAT(Step(), ElementsAre("y for 1"));
  now_ += 5s;
  state_.OnPeers({{kOne, "n1", 10_MiB, 10_MiB, 8_MiB}}, now_);
  EXPECT_THAT(WhyLeft().message, HasSubstr("no other node has all of its bytes yet"));
}

TEST_F(DrainStateTest, WhatIsPromisedIsNotFree) {
  Peers(3_MiB, 4_MiB);
  for (const char* name : {"x", "y", "z"}) Add(name, 2_MiB);
  Step();
  for (const char* name : {"x", "y", "z"}) Answer(name, false);
  const auto asked = Step();
  EXPECT_EQ(std::ranges::count_if(asked, [](const auto& one) { return one.ends_with("2"); }), 2);
  EXPECT_EQ(std::ranges::count_if(asked, [](const auto& one) { return one.ends_with("1"); }), 1);
}

TEST_F(DrainStateTest, ATakerThatIsFedNothingIsReplacedOneThatIsFedNot) {
  Peers(2_MiB, 5_MiB);
  Offer("x");
  Answer("x", false);
  fed_ = true;
  now_ += 3s;
  EXPECT_THAT(Step(), ElementsAre("x"));
  fed_ = false;
  Answer("x", false);
  now_ += 3s;
  Peers(2_MiB, 5_MiB);
  EXPECT_THAT(Step(), ElementsAre("x for 1"));
}

TEST_F(DrainStateTest, AQuestionThatIsNotAnsweredIsAskedAgain) {
  Add("x");
  Step();
  EXPECT_THAT(Step(), IsEmpty());
  now_ = next_;
  EXPECT_THAT(Step(), ElementsAre("x"));
  EXPECT_EQ(WhyLeft().code, ErrorCode::kTimeout);
  EXPECT_THAT(WhyLeft().message, HasSubstr("directory shard has not said"));
}

TEST_F(DrainStateTest, WhatNobodyTakesRestsAndLeavesItsPlaceToOthers) {
  state_.OnPeers({}, now_);
  for (int i = 0; state_.has_room(); ++i) Add(std::to_string(i));
  Step();
  for (const auto& [object, name] : names_) Answer(name, false);
  EXPECT_FALSE(state_.has_room());
  Step();
  EXPECT_TRUE(state_.has_room());
  EXPECT_EQ(WhyLeft().code, ErrorCode::kUnavailable);
  now_ += 1s;
  EXPECT_EQ(state_.outcome().left_count, names_.size());
}

TEST_F(DrainStateTest, FullNodesAreNamed) {
  Peers(1_KiB, 2_KiB);
  Offer("x");
  EXPECT_EQ(WhyLeft().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(WhyLeft().message, AllOf(HasSubstr("1048576 bytes"), HasSubstr("n1 has 1024 of"),
                                       HasSubstr("n2 has 2048 of")));
}

TEST_F(DrainStateTest, AllThatIsLeftIsCountedAndAThousandAreNamed) {
  for (int i = 0; i < 1500; ++i) Add(std::to_string(i));
  EXPECT_EQ(state_.outcome().left_count, 1500u);
  EXPECT_EQ(state_.outcome().left.size(), kMaxLeftObjects);
}

TEST_F(DrainStateTest, AnotherVersionIsAskedAboutAnewAndWhatVanishedIsForgotten) {
  Peers(2_MiB, 5_MiB);
  Offer("x");
  state_.Add({Named("x"), Version{{1, 2}}, 1_MiB}, now_);
  EXPECT_THAT(Step(), ElementsAre("x")) << "nobody is named before the shard has said keep";
  state_.OnAnswer({Named("x"), kVersion, true}, now_);
  EXPECT_FALSE(state_.empty()) << "the answer is about the older one";
  state_.Forget(Named("x"));
  EXPECT_TRUE(state_.empty());
}

}  // namespace
}  // namespace hoplite::planner
