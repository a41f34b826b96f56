// Forests: a crowd asks for one object, which is cut into groups; who serves whom, through
// deaths and latecomers.
#include "planner/serving/forest.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "planner/copies/broadcast_cost.h"
#include "planner/serving/source_selector.h"
#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using ::testing::IsEmpty;

constexpr std::uint32_t kGroups = 4;
constexpr std::uint32_t kStripesOfForest = 16;
const LinkModel kFastLink{std::chrono::microseconds(100), Duration{0}, 1.25e9};

std::size_t GroupOf(std::uint32_t stripe) { return stripe % kGroups; }

// Node 1 has the object; the others ask for it. Who feeds whom is kept as it was told, by stripe.
class ForestTest : public ::testing::Test {
 protected:
  ForestTest() {
    DirectoryOptions options;
    options.recovery_window = Duration{0};
    options.link = kFastLink;
    state_.emplace(options, now_);
  }
  // All nodes join first, so that the shard knows how many may come.
  void Open(std::uint64_t receivers) {
    for (std::uint64_t node = 1; node <= receivers + 1; ++node) {
      state_->Apply({now_, NodeJoined{{NodeId{node}, std::to_string(node), "x:1"}, 0}});
      Say(node, InventoryEnd{});
    }
    Say(1, Create{object_, layout_, "", nullptr});
    for (const Action& action : Plan()) {
      if (const auto* made = std::get_if<CreateAccepted>(&action.body)) version_ = made->version;
    }
    Say(1, CopyComplete{object_, version_});
    Plan();
  }
  void Say(std::uint64_t node, NodeEvent event) {
    state_->Apply({now_, NodeSaid{NodeId{node}, std::move(event)}});
  }
  void WantFrom(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t node = first; node <= last; ++node) {
      Say(node, Want{object_, version_, layout_.empty_marks()});
    }
  }
  std::vector<Action> Plan(Duration passed = Duration{0}) {
    now_ += passed;
    std::vector<Action> actions;
    state_->Plan(now_, actions);
    for (const Action& action : actions) {
      if (const auto* grant = std::get_if<Grant>(&action.body)) Note(action.to, *grant);
    }
    EXPECT_EQ(state_->BrokenInvariant(), "");
    return actions;
  }
  void Note(NodeId receiver, const Grant& grant) {
    grants_[grant.grant] = receiver;
    for (const std::uint32_t stripe : StripesOf(grant.stripes)) {
      if (receiver != NodeId{1}) source_[stripe][receiver] = grant.source.id;
    }
    newest_[receiver].push_back(grant);
  }
  // The node dies: its streams break, and its session ends.
  void Die(NodeId dead) {
    state_->Apply({now_, NodeSuspended{dead}});
    for (auto& by_receiver : source_) by_receiver.erase(dead);
    const auto told = newest_;
    for (const auto& [receiver, grants] : told) {
      for (const Grant& grant : grants) {
        if (grant.source.id != dead || receiver == dead) continue;
        StripeMarks marks = layout_.empty_marks();
        for (const std::uint32_t stripe : StripesOf(grant.stripes)) marks[stripe] = 5;
        Say(Raw(receiver),
            GrantClosed{object_, version_, grant.grant, Outcome::kFailed, Failure::kBroken, marks});
      }
    }
  }
  // How many nodes are between the producer and the receiver in the stripe, which ends the walk; or
  // none if nobody feeds somebody on the way.
  std::optional<std::uint32_t> Depth(std::uint32_t stripe, NodeId receiver) const {
    std::uint32_t depth = 0;
    for (NodeId at = receiver; at != NodeId{1}; ++depth) {
      const auto feed = source_[stripe].find(at);
      if (feed == source_[stripe].end() || depth > source_[stripe].size()) return std::nullopt;
      at = feed->second;
    }
    return depth;
  }
  std::uint32_t Deepest() const {
    std::uint32_t deepest = 0;
    for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) {
      for (const auto& [receiver, source] : source_[stripe]) {
        deepest = std::max(deepest, Depth(stripe, receiver).value_or(1'000'000));
      }
    }
    return deepest;
  }
  std::map<NodeId, std::uint32_t> UnitsInUse() const {
    std::map<NodeId, std::uint32_t> units;
    for (const auto& by_receiver : source_) {
      for (const auto& [receiver, source] : by_receiver) ++units[source];
    }
    return units;
  }
  std::map<NodeId, std::set<std::size_t>> ServesIn() const {
    std::map<NodeId, std::set<std::size_t>> groups;
    for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) {
      for (const auto& [receiver, source] : source_[stripe]) {
        groups[source].insert(GroupOf(stripe));
      }
    }
    return groups;
  }
  void ExpectFed(std::uint64_t first, std::uint64_t last) const {
    for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) {
      for (std::uint64_t node = first; node <= last; ++node) {
        EXPECT_TRUE(Depth(stripe, NodeId{node})) << "node " << node << ", stripe " << stripe;
      }
    }
  }

  const ObjectId object_ = ObjectId::FromName("it");
  const Layout layout_ = Layout::For(16 << 20, kStripesOfForest);
  Time now_{};
  std::optional<DirectoryState> state_;
  Version version_;
  std::map<NodeId, NodeId> source_[kStripesOfForest];  // by receiver
  std::map<GrantId, NodeId> grants_;
  std::map<NodeId, std::vector<Grant>> newest_;
};

class ForestOf : public ForestTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  ForestOf() {
    Open(GetParam());
    WantFrom(2, GetParam() + 1);
    Plan();
  }
};
INSTANTIATE_TEST_SUITE_P(Receivers, ForestOf, ::testing::Values(60, 99, 100, 101, 333, 1000));

TEST_P(ForestOf, EverybodyIsFedAtOnceAndStandsBehindFew) {
  ExpectFed(2, GetParam() + 1);
  // One more than if all were divisible.
  EXPECT_LE(Deepest(), ForestDepth(kGroups, GetParam()) + 1);
}

TEST_P(ForestOf, NobodySendsMoreThanTheObject) {
  for (const auto& [node, units] : UnitsInUse()) {
    EXPECT_LE(units, kStripesOfForest) << ToString(node);
  }
}

TEST_P(ForestOf, EachServesInOneGroup) {
  std::uint64_t elsewhere = 0;
  for (const auto& [node, groups] : ServesIn()) {
    if (node != NodeId{1} && groups.size() > 1) ++elsewhere;
  }
  EXPECT_LE(elsewhere, kGroups) << "only those whose units their own group did not need";
  EXPECT_EQ(ServesIn().at(NodeId{1}).size(), kGroups);
  EXPECT_EQ(UnitsInUse().at(NodeId{1}), kStripesOfForest) << "the producer sends it once, too";
}

// They lose their source in one group only, and go on in the others.
TEST_P(ForestOf, WhoLosesItsSourceHasAnotherAtOnce) {
  const auto served = UnitsInUse();
  for (const std::uint64_t dead : {2, 7, 20}) {
    Die(NodeId{dead});
    Plan(milliseconds(1));
    for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) {
      for (const auto& [receiver, source] : source_[stripe]) {
        EXPECT_NE(source, NodeId{dead}) << ToString(receiver);
      }
    }
  }
  EXPECT_LE(Deepest(), ForestDepth(kGroups, GetParam()) + 7);
  for (const auto& [node, units] : UnitsInUse()) {
    EXPECT_LE(units, kStripesOfForest + kStripesOfForest / kGroups) << ToString(node);
  }
}

TEST_F(ForestTest, FewStandInALine) {
  Open(12);
  WantFrom(2, 13);
  Plan();
  for (const auto& [receiver, grants] : newest_) {
    ASSERT_EQ(grants.size(), 1U);
    EXPECT_EQ(grants.front().stripes, layout_.all_stripes());
  }
  EXPECT_EQ(Deepest(), 12U);
}

// One of another site has not asked yet, and would get each group over the way between.
TEST_F(ForestTest, MembersOfSeveralSitesFormNone) {
  Open(200);
  state_->Apply({now_, NodeJoined{{NodeId{300}, "far", "x:1", "another site"}, 0}});
  Say(300, InventoryEnd{});
  WantFrom(2, 201);
  Plan();
  Plan(milliseconds(5));
  for (const auto& [receiver, grants] : newest_) {
    ASSERT_EQ(grants.size(), 1U);
    EXPECT_EQ(grants.front().stripes, layout_.all_stripes());
  }
}

TEST_F(ForestTest, TheFirstIsNotMovedWhenManyCome) {
  Open(200);
  WantFrom(2, 2);
  Plan(milliseconds(5));
  Plan(milliseconds(5));
  ASSERT_EQ(newest_[NodeId{2}].size(), 1U);
  WantFrom(3, 201);
  Plan(milliseconds(5));
  EXPECT_EQ(newest_[NodeId{2}].size(), 1U);
  ExpectFed(2, 201);
  EXPECT_LE(Deepest(), ForestDepth(kGroups, 199) + 2);
}

// They are gathered, since one after the other each would stand behind the one before.
TEST_F(ForestTest, LatecomersAreGathered) {
  Open(300);
  WantFrom(2, 201);
  EXPECT_THAT(Plan(), IsEmpty()) << "the first pass waits, too: others may come";
  Plan(milliseconds(5));
  ExpectFed(2, 201);
  for (std::uint64_t node = 202; node <= 291; ++node) {
    WantFrom(node, node);
    EXPECT_THAT(Plan(), IsEmpty());
  }
  Plan(milliseconds(5));
  ExpectFed(2, 291);
  EXPECT_LE(Deepest(), ForestDepth(kGroups, 200) + ForestDepth(kGroups, 90) + 2);
  for (const auto& [node, units] : UnitsInUse()) EXPECT_LE(units, kStripesOfForest);
}

TEST_F(ForestTest, NobodyWhoLostItsSourceWaitsForLatecomers) {
  Open(300);
  WantFrom(2, 201);
  Plan(milliseconds(5));
  Plan(milliseconds(5));
  Die(NodeId{2});
  Plan();
  for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) {
    for (const auto& [receiver, source] : source_[stripe]) EXPECT_NE(source, NodeId{2});
  }
}

// It seemed soon enough and had less after all: it is not asked again.
TEST_F(ForestTest, WhoWasNotAheadIsNotAskedAgain) {
  Open(200);
  WantFrom(2, 201);
  Plan();
  Die(NodeId{2});
  Plan(milliseconds(1));
  const NodeId orphan = [&] {
    for (const auto& [receiver, grants] : newest_) {
      if (grants.size() > kGroups) return receiver;
    }
    return kNoNode;
  }();
  ASSERT_NE(orphan, kNoNode);
  const Grant again = newest_[orphan].back();
  StripeMarks marks = layout_.empty_marks();
  for (const std::uint32_t stripe : StripesOf(again.stripes)) marks[stripe] = 5;
  Say(Raw(orphan),
      GrantClosed{object_, version_, again.grant, Outcome::kFailed, Failure::kNotAhead, marks});
  Plan(milliseconds(100));
  EXPECT_NE(newest_[orphan].back().source.id, again.source.id);
}

// What it would wait for, it cannot pass on; and each who has less would name the next.
TEST_F(ForestTest, ALeafThatLostItsSourceWaitsForWhoIsAhead) {
  Open(200);
  WantFrom(2, 200);
  Plan(milliseconds(5));
  constexpr std::uint64_t kLeaf = 201;
  StripeMarks marks = layout_.empty_marks();
  for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) marks[stripe] = 5;
  Say(kLeaf, Want{object_, version_, layout_.empty_marks(), true});
  Plan(milliseconds(5));
  ASSERT_EQ(newest_[NodeId{kLeaf}].size(), 1);
  const Grant first = newest_[NodeId{kLeaf}].back();
  ASSERT_EQ(first.source.id, NodeId{1});

  state_->Apply({now_, NodeSuspended{NodeId{1}}});
  Say(kLeaf,
      GrantClosed{object_, version_, first.grant, Outcome::kFailed, Failure::kBroken, marks});
  Plan(milliseconds(5));
  EXPECT_EQ(newest_[NodeId{kLeaf}].size(), 1) << "everybody has less";
  for (std::uint32_t stripe = 0; stripe < kStripesOfForest; ++stripe) marks[stripe] = 6;
  Say(7, Progress{object_, version_, marks});
  Plan(milliseconds(1));
  ASSERT_EQ(newest_[NodeId{kLeaf}].size(), 2);
  EXPECT_EQ(newest_[NodeId{kLeaf}].back().source.id, NodeId{7});
}

// --- what the homes are for: the same batch without them

class Crowded {
 public:
  explicit Crowded(std::uint64_t receivers)
      : table_(Layout::For(16 << 20, kStripesOfForest), NodeId{1}) {
    table_.Add(NodeId{1});
    table_.Edit(NodeId{1}, [](Copy& copy) { copy.complete = copy.listed = true, copy.order = 1; });
    for (std::uint64_t node = 2; node <= receivers + 1; ++node) {
      table_.Add(NodeId{node});
      table_.Edit(NodeId{node}, [&](Copy& copy) {
        copy.wanted = table_.layout().all_stripes();
        copy.order = node;
      });
    }
  }
  std::uint32_t DepthOf(bool with_homes) {
    Forest forest(table_);
    forest.CutIfItPays(kFastLink, table_.copies().size());
    EXPECT_TRUE(table_.forest());
    if (with_homes) forest.DealHomes();
    Stamps stamps(1);
    const KeepApart apart;
    SourceSelector selector(table_, stamps, {Time{}, kFastLink, apart, true});
    selector.Run();
    EXPECT_EQ(table_.BrokenInvariant(), "");
    std::uint32_t deepest = 0;
    for (const auto& [node, copy] : table_.copies()) {
      std::uint32_t depth = 0;
      for (NodeId at = node; at != NodeId{1} && at != kNoNode; ++depth) {
        at = table_.Find(at)->feed(0).source;
      }
      deepest = std::max(deepest, depth);
    }
    return deepest;
  }

 private:
  CopyTable table_;
};

TEST(ForestHomes, MakeTheGroupsTreesAndNotLines) {
  EXPECT_LE(Crowded(400).DepthOf(true), ForestDepth(kGroups, 400) + 1);
  EXPECT_EQ(Crowded(400).DepthOf(false), 400U);
}

}  // namespace
}  // namespace hoplite::planner
