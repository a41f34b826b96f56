// Work on very many objects is done in slices: no call does much, and between two calls every
// invariant holds.
#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

// Processor time of this thread: a loaded machine doesn't count.
double ThreadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A shard that is told things one by one, and the most that one call took.
class PlannerSlices : public ::testing::Test {
 protected:
  // A call of a slice takes 1 to 3 ms; without slices it would be more than ten times as much as
  // this.
  static constexpr double kLongest = 0.1;
  static constexpr std::size_t kObjects = 60'000;

  void Start(Duration recovery_window = Duration{0}, std::size_t slice = DirectoryOptions().slice) {
    DirectoryOptions options;
    options.recovery_window = recovery_window;
    options.slice = slice;
    state_.emplace(options, now_);
    longest_ = 0;
    most_actions_ = 0;
    actions_.clear();
  }
  static ObjectId Id(std::size_t i) { return ObjectId::FromName(std::to_string(i)); }

  void Apply(EventBody body) {
    const double before = ThreadSeconds();
    state_->Apply({now_, std::move(body)});
    longest_ = std::max(longest_, ThreadSeconds() - before);
  }
  void Say(std::uint64_t node, NodeEvent event) { Apply(NodeSaid{NodeId(node), std::move(event)}); }
  void Connect(std::uint64_t node) {
    Apply(NodeJoined{{NodeId(node), "n" + std::to_string(node), "x:1"}, 0});
  }
  void Join(std::uint64_t node) {
    Connect(node);
    Say(node, InventoryEnd{});
  }
  void Hold(std::uint64_t node, std::size_t object) {
    const Layout layout = Layout::For(16);
    Held held{Id(object), Version{{1, 1}}, layout, "", layout.full_marks()};
    held.complete = true;
    Say(node, held);
  }
  bool Plan() {
    std::vector<Action> actions;
    const double before = ThreadSeconds();
    const Time next = state_->Plan(now_, actions);
    longest_ = std::max(longest_, ThreadSeconds() - before);
    most_actions_ = std::max(most_actions_, actions.size());
    std::ranges::move(actions, std::back_inserter(actions_));
    return next <= now_;
  }
  // How often it had to be asked until nothing was due.
  int PlanAll() {
    int calls = 1;
    while (Plan()) ++calls;
    return calls;
  }
  template <typename Body>
  std::size_t Count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        actions_, [](const Action& action) { return std::holds_alternative<Body>(action.body); }));
  }
  void ExpectShortCalls() const {
    EXPECT_LT(longest_, kLongest);
    EXPECT_LE(most_actions_, 2 * DirectoryOptions().slice);
  }
  // Many objects on node 1, whose copies node 2 hears of.
  void FillAndWatch() {
    Start();
    Join(1);
    Join(2);
    for (std::size_t i = 0; i < kObjects; ++i) {
      Hold(1, i);
      Say(2, Subscribe{Id(i)});
      if (i % 500 == 0) PlanAll();
    }
    PlanAll();
    actions_.clear();
  }

  Time now_{};
  std::optional<DirectoryState> state_;
  std::vector<Action> actions_;
  double longest_ = 0;
  std::size_t most_actions_ = 0;
};

TEST_F(PlannerSlices, TheLossOfAHolderOfManyObjects) {
  FillAndWatch();
  Apply(NodeLost{NodeId(1)});
  EXPECT_GE(PlanAll(), static_cast<int>(kObjects / DirectoryOptions().slice));
  EXPECT_EQ(Count<Location>(), kObjects);  // each watcher heard of each copy
  ExpectShortCalls();
  EXPECT_EQ(state_->BrokenInvariant(), "");
}

TEST_F(PlannerSlices, ASessionOfAHolderOfManyObjectsEndsAndTheNextGivesUpHalf) {
  FillAndWatch();
  Apply(NodeSuspended{NodeId(1)});
  Plan();  // far from all
  Connect(1);
  for (std::size_t i = 0; i < kObjects; i += 2) Hold(1, i);
  Say(1, InventoryEnd{});
  PlanAll();
  EXPECT_EQ(Count<Location>(), kObjects / 2);  // gone: what was not repeated
  ExpectShortCalls();
  EXPECT_EQ(state_->BrokenInvariant(), "");
}

TEST_F(PlannerSlices, ManyObjectsAreDeletedAndTheirMarksEnd) {
  FillAndWatch();
  for (std::size_t i = 0; i < kObjects; ++i) Say(2, Delete{Id(i)});  // one turn's worth at once
  PlanAll();
  EXPECT_EQ(Count<Deleted>(), 2 * kObjects);
  now_ += std::chrono::minutes(2);
  longest_ = 0;
  PlanAll();
  EXPECT_LT(longest_, kLongest);
  EXPECT_EQ(state_->BrokenInvariant(), "");
}

TEST_F(PlannerSlices, TheEndOfCollectingWithManyRequests) {
  Start(std::chrono::seconds(1));
  Join(1);
  for (std::size_t i = 0; i < kObjects; ++i) Say(1, Create{Id(i), Layout::For(16), "", nullptr});
  PlanAll();
  EXPECT_EQ(actions_.size(), 0U);
  now_ += std::chrono::seconds(1);
  EXPECT_GE(PlanAll(), static_cast<int>(kObjects / DirectoryOptions().slice));
  EXPECT_EQ(Count<CreateAccepted>(), kObjects);
  ExpectShortCalls();
}

// Slices of one object, so that everything under test happens before the object's turn comes.
class PlannerSlice : public PlannerSlices {
 protected:
  static constexpr std::size_t kFew = 50;

  void StartWithCopies(std::initializer_list<std::uint64_t> holders) {
    Start(Duration{0}, 1);
    for (std::uint64_t node = 1; node <= 3; ++node) Join(node);
    for (const std::uint64_t node : holders) {
      for (std::size_t i = 0; i < kFew; ++i) Hold(node, i);
    }
    PlanAll();
    actions_.clear();
  }
  ObjectId Last() const {
    ObjectId last = Id(0);
    for (std::size_t i = 0; i < kFew; ++i) last = std::max(last, Id(i));
    return last;
  }
  void ExpectOneGrantFrom(std::uint64_t source) const {
    ASSERT_EQ(Count<Grant>(), 1U);
    for (const Action& action : actions_) {
      if (const auto* grant = std::get_if<Grant>(&action.body)) {
        EXPECT_EQ(grant->source.id, NodeId(source));
      }
    }
  }
};

TEST_F(PlannerSlice, ALostNodeIsNoSourceFromTheMomentOfItsLoss) {
  StartWithCopies({1, 3});
  Apply(NodeLost{NodeId(1)});
  EXPECT_EQ(state_->BrokenInvariant(), "");
  EXPECT_EQ(state_->Find(Last())->holders.size(), 1U);  // it is not shown either
  Say(2, Want{Last(), Version{{1, 1}}, {0}});
  Plan();
  ExpectOneGrantFrom(3);
  EXPECT_EQ(state_->BrokenInvariant(), "");
  EXPECT_GT(PlanAll(), 10);
}

TEST_F(PlannerSlice, ASuspendedNodeIsNoSourceUntilItIsBack) {
  StartWithCopies({1});
  Apply(NodeSuspended{NodeId(1)});
  Say(2, Want{Last(), Version{{1, 1}}, {0}});
  Plan();
  EXPECT_EQ(Count<Grant>(), 0U);
  Connect(1);
  for (std::size_t i = 0; i < kFew; ++i) Hold(1, i);  // before the sweep came by
  Say(1, InventoryEnd{});
  PlanAll();
  ExpectOneGrantFrom(1);
  EXPECT_EQ(state_->Objects().size(), kFew);
  for (const ObjectView& object : state_->Objects()) EXPECT_FALSE(object.holders.empty());
}

TEST_F(PlannerSlice, WhoIsLostAndBackAtOnceHasOnlyWhatItRepeats) {
  StartWithCopies({1});
  Apply(NodeLost{NodeId(1)});
  Connect(1);
  Hold(1, 0);
  Say(1, InventoryEnd{});
  PlanAll();
  std::vector<ObjectId> held;
  for (const ObjectView& object : state_->Objects()) {
    if (!object.holders.empty()) held.push_back(object.object);
  }
  EXPECT_THAT(held, ::testing::ElementsAre(Id(0)));
  EXPECT_EQ(state_->BrokenInvariant(), "");
}

TEST_F(PlannerSlice, TheNameOfALostHolderIsKnownUntilEveryWaiterHeardIt) {
  StartWithCopies({1});
  for (std::size_t i = 0; i < kFew; ++i) Say(2, Want{Id(i), Version{{1, 1}}, {0}, true});
  PlanAll();
  actions_.clear();
  Apply(NodeLost{NodeId(1)});
  PlanAll();
  EXPECT_EQ(Count<HolderLost>(), kFew);
  for (const Action& action : actions_) {
    if (const auto* lost = std::get_if<HolderLost>(&action.body))
      EXPECT_EQ(lost->loss.node_name, "n1");
  }
}

// A request that a session made while the shard collected is void if the session ended before the
// request's turn came.
TEST_F(PlannerSlice, RequestsOfAnEndedSessionAreNotAnswered) {
  Start(std::chrono::seconds(1), 1);
  Join(1);
  Join(2);
  for (std::size_t i = 0; i < kFew; ++i) {
    Say(1, Create{Id(i), Layout::For(16), "", nullptr});
    Say(2, Create{Id(i), Layout::For(32), "", nullptr});
  }
  now_ += std::chrono::seconds(1);
  Plan();
  Apply(NodeSuspended{NodeId(1)});
  Join(1);
  PlanAll();
  const auto accepted = [&](std::uint64_t node) {
    return std::ranges::count_if(actions_, [&](const Action& action) {
      return action.to == NodeId(node) && std::holds_alternative<CreateAccepted>(action.body);
    });
  };
  EXPECT_LE(accepted(1), 1);
  EXPECT_EQ(accepted(1) + accepted(2), static_cast<std::ptrdiff_t>(kFew));
}

}  // namespace
}  // namespace hoplite::planner
