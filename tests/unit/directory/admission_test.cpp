// By which id a shard goes, and who waits: every order in which nodes come to the lives of a shard
// (docs/protocol.md, R44).
#include "directory/admission.h"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "directory/cluster_id.h"

namespace hoplite::directory {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kDrawn = 0xd;
constexpr std::uint64_t kOld = 0xa;    // what the shard was known by before it restarted
constexpr std::uint64_t kOther = 0xb;  // of a shard of another cluster

wire::Hello From(int node, std::uint64_t shard_id, bool holds, std::size_t index = 0,
                 std::size_t count = 1) {
  wire::Hello hello;
  hello.node = {NodeId(node), "n" + std::to_string(node), "127.0.0.1:7"};
  hello.shard_index = index;
  hello.shard_count = count;
  hello.shard_id = shard_id;
  hello.holds = holds;
  return hello;
}

// What the node is told if it has to wait; empty: it may join.
std::string Refusal(Admission& admission, const wire::Hello& hello) {
  const auto refusal = admission.Admit(hello);
  EXPECT_TRUE(!refusal || refusal->retry);
  return refusal ? refusal->error.message : "";
}

Admission NewShard() { return Admission({.state = {.id = kDrawn, .incarnation = 5}}); }

TEST(ClusterId, DependsOnNameAndNumberOfShardsOnly) {
  EXPECT_EQ(ClusterId("x", 2), ClusterId("x", 2));
  EXPECT_NE(ClusterId("x", 2), ClusterId("x", 3));
  EXPECT_NE(ClusterId("x", 2), ClusterId("", 2));
}

TEST(Admission, RefusalsForGoodSayWhatDiffers) {
  Admission admission({{"a:1", "b:2"}, "blue", "b:2", {.id = kDrawn}});
  const auto refusal = [&](const wire::Hello& hello) -> std::string {
    const auto ended = admission.Admit(hello);
    if (!ended) return "none";
    EXPECT_EQ(ended->error.code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(ended->retry);
    return ended->error.message;
  };
  wire::Hello right = From(7, 0, false, 1, 2);
  right.cluster = "blue";
  EXPECT_EQ(refusal(right), "none");
  wire::Hello wrong = right;
  wrong.cluster = "red";
  EXPECT_THAT(refusal(wrong), HasSubstr("'red'"));
  wrong = right;
  wrong.shard_count = 3;
  EXPECT_THAT(refusal(wrong), HasSubstr("names 3 directory shards, this shard knows 2"));
  wrong = right;
  wrong.shard_index = 0;
  EXPECT_THAT(refusal(wrong), HasSubstr("number 0"));
  wrong = right;
  wrong.protocol = 1;
  EXPECT_THAT(refusal(wrong), HasSubstr("speaks version 1 of the directory protocol"));
}

TEST(Admission, ANewClusterGoesByWhatTheShardDrew) {
  Admission shard = NewShard();
  EXPECT_EQ(Refusal(shard, From(1, 0, false)), "");
  EXPECT_EQ(Refusal(shard, From(1, kDrawn, true)), "");
  EXPECT_EQ(shard.id(), kDrawn);
}

TEST(Admission, TheFirstNodeWithObjectsDecidesWhoeverCameBefore) {
  Admission shard = NewShard();
  EXPECT_EQ(Refusal(shard, From(3, kOther, false)), "");  // empty, and of another cluster
  EXPECT_EQ(Refusal(shard, From(4, kDrawn, true)), "");  // a newcomer that has put things meanwhile
  EXPECT_EQ(shard.id(), kDrawn);
  EXPECT_EQ(Refusal(shard, From(1, kOld, true)), "");
  EXPECT_EQ(shard.id(), kOld);
  EXPECT_EQ(Refusal(shard, From(3, kOther, false)), "") << "it takes the id that it is told";
  EXPECT_EQ(Refusal(shard, From(4, kDrawn, true)), "") << "it may not have heard of the other id";
  EXPECT_EQ(shard.id(), kOld);
}

TEST(Admission, WhoKnowsAnotherIdWaitsAndIsToldBothSides) {
  Admission shard = NewShard();
  EXPECT_EQ(Refusal(shard, From(1, kOld, true)), "");
  const std::string words = Refusal(shard, From(5, kOther, true));
  EXPECT_THAT(words, HasSubstr("another cluster: node 'n5', with objects, knows it by the id "
                               "000000000000000b, node 'n1', with objects, by 000000000000000a"));
  EXPECT_EQ(shard.id(), kOld) << "one id a life";
}

TEST(Admission, TheIdOfAStateFileStands) {
  Admission shard({.state = {.id = kOld, .incarnation = 5}, .certain = true});
  EXPECT_THAT(Refusal(shard, From(5, kOther, true)),
              HasSubstr("000000000000000b, its state file by 000000000000000a"));
  EXPECT_EQ(Refusal(shard, From(1, kOld, true)), "");
}

// A directory gets its first state file while nodes hold objects.
TEST(Admission, WhatANewStateFileIsToKeepIsKeptBeforeItIsUsed) {
  std::optional<ShardState> kept;
  bool full = true;
  Admission shard({.state = {.id = kDrawn, .incarnation = 5},
                   .keep = [&](const ShardState& state) -> Result<void> {
                     if (full) return std::unexpected(Error(ErrorCode::kResourceExhausted, "full"));
                     kept = state;
                     return {};
                   }});
  wire::Hello hello = From(1, kOld, true);
  hello.highest_incarnation = 8;  // the clock went back
  EXPECT_EQ(Refusal(shard, hello), "full");
  EXPECT_EQ(shard.id(), kDrawn);
  full = false;
  EXPECT_EQ(Refusal(shard, hello), "");
  EXPECT_EQ(kept, (ShardState{.id = kOld, .incarnation = 9}));
  kept.reset();
  EXPECT_EQ(Refusal(shard, hello), "");
  EXPECT_FALSE(kept) << "nothing new";
}

TEST(ShardStates, AClockThatWentBackGivesNoIncarnationTwice) {
  const ShardState first = NextLife(std::nullopt, kDrawn, 1000);
  EXPECT_EQ(first, (ShardState{.id = kDrawn, .incarnation = 1000}));
  EXPECT_EQ(NextLife(first, kOther, 400), (ShardState{.id = kDrawn, .incarnation = 1001}));
  EXPECT_EQ(NextLife(first, kOther, 2000), (ShardState{.id = kDrawn, .incarnation = 2000}));
  EXPECT_EQ(NextLife(std::nullopt, kOther, 400).incarnation, 400u) << "without the file";
}

// --- lives of a shard

// Two nodes of one cluster and the shard of their objects, which may restart at any moment.
class Lives {
 public:
  enum class Step : std::uint8_t { kRestart, kOneMeets, kOtherMeets, kOnePuts, kOtherPuts };
  static constexpr std::size_t kSteps = 5;

  explicit Lives(bool state_file) : state_file_(state_file) { Restart(); }

  void Take(Step step) {
    const bool one = step == Step::kOneMeets || step == Step::kOnePuts;
    Node& node = nodes_[one ? 0 : 1];
    if (step == Step::kRestart) {
      Restart();
    } else if (step == Step::kOneMeets || step == Step::kOtherMeets) {
      Meet(node);
    } else {
      node.holds |= node.session;
    }
  }
  bool refused() const { return refused_; }
  int restarts() const { return life_ - 1; }

 private:
  struct Node {
    int number;
    std::uint64_t shard_id = 0;
    bool holds = false;
    bool session = false;
  };

  void Restart() {
    const std::optional<ShardState> kept = state_file_ ? kept_ : std::nullopt;
    kept_ = NextLife(kept, static_cast<std::uint64_t>(++life_), 1);
    shard_.emplace(Admission::Settings{.state = *kept_, .certain = kept.has_value()});
    for (Node& node : nodes_) node.session = false;
  }
  void Meet(Node& node) {
    if (!Refusal(*shard_, From(node.number, node.shard_id, node.holds)).empty()) {
      refused_ = true;
      return;
    }
    node.session = true;
    for (Node& one : nodes_) {
      if (one.session) one.shard_id = shard_->id();
    }
  }

  const bool state_file_;
  int life_ = 0;
  std::optional<ShardState> kept_;
  std::optional<Admission> shard_;
  std::array<Node, 2> nodes_{Node{.number = 1}, Node{.number = 2}};
  bool refused_ = false;
};

// Every history of so many steps; the first is one that does anything, which node's does not matter.
template <typename Visit>
void EachHistory(bool state_file, int steps, Visit visit) {
  const auto histories = static_cast<std::size_t>(std::pow(Lives::kSteps, steps - 1));
  for (std::size_t history = 0; history < histories; ++history) {
    Lives lives(state_file);
    std::size_t rest = history;
    lives.Take(Lives::Step::kOneMeets);
    for (int i = 1; i < steps; ++i, rest /= Lives::kSteps) {
      lives.Take(static_cast<Lives::Step>(rest % Lives::kSteps));
    }
    visit(lives);
  }
}

// The shortest has eight steps: one node puts; restart; the other puts while the first is away;
// restart; both come.
constexpr int kSteps = 8;

TEST(Lives, WithoutAStateFileANodeMayWaitThatMissedALifeInWhichOthersPut) {
  int waits = 0;
  EachHistory(false, kSteps, [&](const Lives& lives) {
    waits += lives.refused() ? 1 : 0;
    ASSERT_TRUE(!lives.refused() || lives.restarts() >= 2) << "one restart makes nobody wait";
  });
  EXPECT_GT(waits, 0);
}

TEST(Lives, WithAStateFileNoNodeOfTheClusterEverWaits) {
  EachHistory(true, kSteps, [](const Lives& lives) { ASSERT_FALSE(lives.refused()); });
}

}  // namespace
}  // namespace hoplite::directory
