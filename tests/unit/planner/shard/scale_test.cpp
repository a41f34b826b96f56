// Planning cost: a broadcast to thousands is planned quickly, whatever the order of events.
#include <algorithm>
#include <chrono>
#include <map>

#include <gtest/gtest.h>

#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

constexpr int kNodes = 2000;

// One object on node 1, which everybody else asks for at once; grants are closed in order.
struct Crowd {
  explicit Crowd(std::uint64_t bytes, std::size_t sites = 1) : layout(Layout::For(bytes, 1)) {
    DirectoryOptions options;
    options.recovery_window = Duration{0};
    options.link = {std::chrono::microseconds(100), Duration{0}, 1.25e9};
    state.emplace(options, Time{});
    for (int i = 1; i <= kNodes + 1; ++i) {
      NodeInfo info{NodeId(i), std::to_string(i), "x:1"};
      info.site = std::to_string(static_cast<std::size_t>(i) % sites);
      state->Apply({Time{}, NodeJoined{info, 0}});
      Say(i, InventoryEnd{});
    }
    Say(1, Create{object, layout, "", nullptr});
    Plan();
    version = std::get<CreateAccepted>(actions.at(0).body).version;
    Say(1, CopyComplete{object, version});
  }

  void Say(int node, NodeEvent event) {
    state->Apply({Time{}, NodeSaid{NodeId(node), std::move(event)}});
  }
  void Plan() {
    actions.clear();
    state->Plan(Time{}, actions);
  }
  void WantAll() {
    for (int i = 2; i <= kNodes + 1; ++i) Say(i, Want{object, version, layout.empty_marks()});
  }
  // Depth below node 1 of every receiver that was granted.
  int Depth() const {
    std::map<NodeId, int> depth{{NodeId(1), 0}};
    int deepest = 0;
    for (const Action& action : actions) {
      const auto& grant = std::get<Grant>(action.body);
      depth[action.to] = depth.at(grant.source.id) + 1;
      deepest = std::max(deepest, depth[action.to]);
    }
    return deepest;
  }

  Layout layout;
  ObjectId object = ObjectId::FromName("it");
  std::optional<DirectoryState> state;
  Version version;
  std::vector<Action> actions;
};

TEST(PlannerScale, OneBatchGrantsEverybodyInATreeOfTheRightDepth) {
  Crowd crowd(16 << 20);
  crowd.WantAll();
  crowd.Plan();
  ASSERT_EQ(crowd.actions.size(), static_cast<std::size_t>(kNodes));
  EXPECT_EQ(crowd.Depth(), 10);  // 2 + 4 + … + 1024 covers 2,046
  EXPECT_EQ(crowd.state->BrokenInvariant(), "");
}

TEST(PlannerScale, FinishingOneByOneLeavesNothingOpen) {
  Crowd crowd(64 << 10);
  crowd.WantAll();
  crowd.Plan();
  const std::vector<Action> grants = crowd.actions;
  for (const Action& action : grants) {
    const auto& grant = std::get<Grant>(action.body);
    const int node = static_cast<int>(Raw(action.to));
    crowd.Say(node, GrantClosed{crowd.object, crowd.version, grant.grant, Outcome::kDone,
                                Failure::kNone, crowd.layout.full_marks()});
    crowd.Say(node, CopyComplete{crowd.object, crowd.version});
    crowd.Plan();
    ASSERT_TRUE(crowd.actions.empty());
  }
  EXPECT_EQ(crowd.state->BrokenInvariant(), "");
  const ObjectView view = *crowd.state->Find(crowd.object);
  EXPECT_TRUE(view.transfers.empty());
  EXPECT_TRUE(std::ranges::all_of(view.holders, &HolderView::complete));
}

TEST(PlannerScale, ManyDeathsAtOnceArePlannedAround) {
  Crowd crowd(1 << 30);
  crowd.WantAll();
  crowd.Plan();
  const std::vector<Action> grants = crowd.actions;
  for (int i = 3; i <= kNodes; i += 10) crowd.state->Apply({Time{}, NodeLost{NodeId(i)}});
  crowd.Plan();
  // The receivers notice on their own sockets, too.
  for (const Action& action : grants) {
    const auto& grant = std::get<Grant>(action.body);
    const auto source = static_cast<int>(Raw(grant.source.id));
    if (source % 10 != 3 || source > kNodes) continue;
    crowd.Say(static_cast<int>(Raw(action.to)),
              GrantClosed{crowd.object, crowd.version, grant.grant, Outcome::kFailed,
                          Failure::kBroken, crowd.layout.empty_marks()});
  }
  crowd.Plan();
  EXPECT_EQ(crowd.state->BrokenInvariant(), "");
  const ObjectView view = *crowd.state->Find(crowd.object);
  EXPECT_TRUE(view.waiters.empty());
  EXPECT_EQ(view.transfers.size() + 1, view.holders.size());
}

// The producer is gone, and all others stand behind one receiver. Each report would make that one look
// at all of them.
TEST(PlannerScale, WhoFoundNobodyAmongManyLooksAgainAfterAWhile) {
  Crowd crowd(1 << 30, 2);
  constexpr int kFew = 500;
  Time next{};
  const auto plan = [&](Time now) {
    std::vector<Action> actions;
    next = crowd.state->Plan(now, actions);
    std::erase_if(actions,
                  [](const Action& action) { return !std::holds_alternative<Grant>(action.body); });
    return actions;
  };
  for (int i = 2; i <= kFew; ++i) {
    crowd.Say(i, Want{crowd.object, crowd.version, crowd.layout.empty_marks()});
    crowd.Plan();
  }
  crowd.state->Apply({Time{}, NodeLost{NodeId(1)}});
  plan(Time{});  // whoever else lost it goes behind the others
  const auto report = [&crowd] {
    crowd.Say(kFew, Progress{crowd.object, crowd.version, crowd.layout.empty_marks()});
  };
  report();
  EXPECT_TRUE(plan(Time{}).empty());
  const Time soon = Time{} + std::chrono::microseconds(100);
  report();
  EXPECT_TRUE(plan(soon).empty()) << "it has just looked at all";
  EXPECT_LE(next, Time{} + std::chrono::milliseconds(50)) << "then it looks again";
  constexpr int kOther = kFew + 1;
  crowd.Say(kOther,
            Held{crowd.object, crowd.version, crowd.layout, "", crowd.layout.full_marks(), true});
  const std::vector<Action> made = plan(soon);
  ASSERT_FALSE(made.empty()) << "that is no report";
  EXPECT_EQ(std::get<Grant>(made[0].body).source.id, NodeId(kOther));
}

}  // namespace
}  // namespace hoplite::planner
