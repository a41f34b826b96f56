// What a shard does with the messages of a reduction when sessions end at bad moments (R29-R36).
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/shard/directory_state.h"
#include "protocol/failure.h"

namespace hoplite::planner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A tree of two: slot 2, the root, pulls from slot 1. Answers in words, versions left out:
//   "2: assigned 2"  "2: feed 1"  "2: dropped 2"  "2: committed"  "4: grant from 2"
class ReductionState : public ::testing::Test {
 public:
  static constexpr NodeId kCoordinator{1};
  static constexpr NodeId kRoot{2};
  static constexpr NodeId kChild{3};
  static constexpr NodeId kReader{4};

  void Start(Duration recovery_window = Duration{0}) {
    DirectoryOptions options;
    options.recovery_window = recovery_window;
    state_.emplace(options, now_);
    for (const NodeId node : {kCoordinator, kRoot, kChild, kReader}) Join(node);
  }
  void Apply(const EventBody& body) {
    state_->Apply({now_, body});
    EXPECT_EQ(state_->BrokenInvariant(), "");
  }
  void Say(NodeId node, NodeEvent event) { Apply(NodeSaid{node, std::move(event)}); }
  void Connect(NodeId node) {
    const std::string name = "n" + std::to_string(Raw(node));
    Apply(NodeJoined{{node, name, name + ":1"}, 0});
  }
  void Join(NodeId node) {
    Connect(node);
    Say(node, InventoryEnd{});
  }
  void Open() { Say(kCoordinator, ReduceOpen{target_, 1}); }
  void Shape() { Say(kCoordinator, ReduceShape{target_, 1, layout_, {}, ""}); }
  void Assign(std::uint32_t slot, NodeId node) {
    const bool root = slot == 2;
    const std::vector<std::uint32_t> parents(root ? 0 : 1, 2);
    const SlotInput source{ObjectId::FromName(std::to_string(slot)), Version{{1, slot}}};
    Say(kCoordinator,
        protocol::OneOrder(target_, 1, ++attempts_,
                           {slot, parents, layout_.all_stripes(), root ? 1U : 0U, node, {source}}));
  }
  void Reduce() {
    Open();
    Plan();
    Shape();
    Assign(1, kChild);
    Assign(2, kRoot);
  }
  Version Of(std::uint32_t slot) const { return versions_.at(slot); }
  SlotProgress Progress(std::uint32_t slot) const {
    return {target_, slot, Of(slot), layout_.empty_marks(), 0};
  }

  std::vector<std::string> Plan() {
    std::vector<Action> actions;
    state_->Plan(now_, actions);
    EXPECT_EQ(state_->BrokenInvariant(), "");
    std::vector<std::string> lines;
    for (const Action& action : actions) {
      lines.push_back(std::to_string(Raw(action.to)) + ": " + Words(action.body));
    }
    return lines;
  }
  std::string Words(const NodeAction& body) {
    if (const auto* assigned = std::get_if<SlotAssigned>(&body)) {
      versions_[assigned->order.slot] = assigned->version;
      return "assigned " + std::to_string(assigned->order.slot);
    }
    if (const auto* feed = std::get_if<SlotFeed>(&body))
      return "feed " + std::to_string(feed->input);
    if (const auto* dropped = std::get_if<SlotDropped>(&body)) {
      return "dropped " + std::to_string(dropped->slot);
    }
    if (const auto* grant = std::get_if<Grant>(&body)) {
      return "grant from " + std::to_string(Raw(grant->source.id));
    }
    if (std::holds_alternative<ReduceCommitted>(body)) return "committed";
    if (std::holds_alternative<ReduceOpened>(body)) return "opened";
    if (std::holds_alternative<TargetAborted>(body)) return "aborted";
    if (std::holds_alternative<SlotLost>(body)) return "lost";
    return "other";
  }
  std::vector<HolderView> Holders() const {
    const auto view = state_->Find(target_);
    return view ? view->holders : std::vector<HolderView>();
  }

  const ObjectId target_ = ObjectId::FromName("target");
  const Layout layout_ = Layout::For(1 << 20);
  Time now_{};
  std::optional<DirectoryState> state_;
  std::uint64_t attempts_ = 0;
  std::map<std::uint32_t, Version> versions_;
};

// R36: the answer to the commit was lost with the root's session.
TEST_F(ReductionState, ACommitWhoseAnswerWasLostIsAnsweredAgain) {
  for (const bool closed : {false, true}) {
    Start();
    Reduce();
    Plan();
    Say(kRoot, ReduceCommit{target_, Of(2)});
    Apply(NodeSuspended{kRoot});
    EXPECT_THAT(Plan(), ElementsAre("1: committed", "3: dropped 1"));
    if (closed) Say(kCoordinator, ReduceClose{target_, 1, {}, ""});
    Connect(kRoot);
    Say(kRoot, Progress(2));
    Say(kRoot, ReduceCommit{target_, Of(2)});
    Say(kRoot, InventoryEnd{});
    EXPECT_THAT(Plan(), ElementsAre("2: committed"));
    ASSERT_EQ(Holders().size(), 1U);
    EXPECT_TRUE(Holders()[0].complete);
    // Its copy is a source again.
    Say(kReader, Locate{target_});
    Say(kReader, Want{target_, Of(2), layout_.empty_marks()});
    EXPECT_THAT(Plan(), Contains("4: grant from 2"));
  }
}

TEST_F(ReductionState, WhoWaitsForTheTargetIsShownWithWhatItsCoordinatorWaitsFor) {
  Start();
  const ObjectId elsewhere = ObjectId::FromName("elsewhere");
  Say(kReader, Locate{target_});
  const auto why = [this] {
    std::vector<std::string> lines;
    for (const WaiterView& one : state_->Find(target_)->waiters) {
      lines.push_back(one.node_name + ": " + one.why);
    }
    return lines;
  };
  EXPECT_THAT(why(), ElementsAre(std::string("n4: ") + protocol::kDoesNotExist));
  Open();
  Plan();
  EXPECT_THAT(why(), ElementsAre("n4: a reduction makes it that n1 asked for"));
  Say(kCoordinator, ToldWaits{{{target_, "a source is missing"}, {elsewhere, "no memory"}}});
  Say(kRoot, ToldWaits{{{target_, "not its coordinator's"}}});
  EXPECT_THAT(why(), ElementsAre("n4: a reduction makes it that n1 asked for: a source is missing",
                                 "n1: a source is missing", "n2: not its coordinator's"));
  ASSERT_TRUE(state_->Find(elsewhere)) << "although it does not exist";
  EXPECT_EQ(state_->Find(elsewhere)->waiters.front().why, "no memory");
  Say(kCoordinator, ToldWaits{});
  Say(kRoot, ToldWaits{});
  EXPECT_THAT(why(), ElementsAre("n4: a reduction makes it that n1 asked for"));
  EXPECT_FALSE(state_->Find(elsewhere));
}

// R36: a root that missed its order is a producer from the repeated one on.
TEST_F(ReductionState, ARootThatMissedItsOrderIsASourceWhenItIsBack) {
  Start();
  Apply(NodeSuspended{kRoot});
  Reduce();
  EXPECT_THAT(Plan(), Contains("3: assigned 1"));
  Join(kRoot);
  EXPECT_THAT(Plan(), ElementsAre("2: assigned 2", "2: feed 1"));
  ASSERT_EQ(Holders().size(), 1U);
  Say(kReader, Want{target_, Of(2), layout_.empty_marks()});
  EXPECT_THAT(Plan(), Contains("4: grant from 2"));
}

TEST_F(ReductionState, WhatACoordinatorRepeatsGoesOn) {
  Start();
  Reduce();
  Plan();
  Apply(NodeSuspended{kCoordinator});
  Connect(kCoordinator);
  Open();
  Say(kCoordinator, InventoryEnd{});
  EXPECT_THAT(Plan(), ElementsAre("1: opened"));
  EXPECT_EQ(state_->Find(target_)->slots.size(), 2U);
}

// R36: it may report only once, while the shard still collects.
TEST_F(ReductionState, APositionThatIsTooOldIsDroppedWhenTheShardHasCollected) {
  Start(std::chrono::seconds(1));
  versions_[1] = Version{{1, 1}};
  Say(kChild, Progress(1));
  EXPECT_THAT(Plan(), IsEmpty());
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(Plan(), ElementsAre("3: dropped 1"));
}

// R33: its sources may go, nothing of it is needed.
TEST_F(ReductionState, ADrainedSlotThatFailsResetsNothing) {
  Start();
  Reduce();
  Plan();
  Say(kRoot, SlotDrained{target_, 2, Of(2), 1, Of(1)});
  Say(kChild, SlotFailed{target_, 1, Of(1), 0, {}, ErrorCode::kDeleted, "its source was deleted"});
  EXPECT_THAT(Plan(), IsEmpty());
  // Executed again, the root finds out what became of it.
  Assign(2, kRoot);
  EXPECT_THAT(Plan(), ElementsAre("2: dropped 2", "2: other", "2: assigned 2", "2: feed 1"));
  Say(kRoot, SlotFailed{target_, 2, Of(2), 1, Of(1), ErrorCode::kPeerLost, "deleted"});
  EXPECT_THAT(Plan(), ElementsAre("1: lost"));
}

}  // namespace
}  // namespace hoplite::planner
