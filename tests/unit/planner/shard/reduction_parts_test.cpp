// The parts that a reduction's target is decided by, alone with the books that they need.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/books/agenda.h"
#include "planner/books/ended_reductions.h"
#include "planner/books/inline_budget.h"
#include "planner/books/object_book.h"
#include "planner/books/outbox.h"
#include "planner/books/recovery_window.h"
#include "planner/books/tombstones.h"
#include "planner/copies/node_table.h"
#include "planner/reduce/reduce_tree.h"
#include "planner/shard/reduction_orders.h"
#include "planner/shard/reduction_requests.h"
#include "planner/words/shard_clock.h"
#include "planner/words/stamps.h"

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Slots 1 and 3 feed 2, which feeds 4, the root; slot n is executed by node n.
class ReductionParts : public ::testing::Test {
 public:
  static constexpr NodeId kCoordinator{9};
  static constexpr NodeId kReader{8};
  static constexpr std::uint64_t kRequest = 5;

  ReductionParts() {
    for (std::uint32_t node = 1; node <= 9; ++node) {
      nodes_.Join({NodeId{node}, "n" + std::to_string(node), "x:1"}, Time{});
    }
    requests_.On(kCoordinator, ReduceOpen{target_, kRequest});
    requests_.ResolveOpens(target_, record());
    requests_.On(kCoordinator, ReduceShape{target_, kRequest, layout_, {}, ""});
  }
  ObjectRecord& record() { return *objects_.Find(target_); }
  const SlotTree& tree() { return record().reduction->tree; }

  void Assign(std::uint32_t slot, std::uint32_t parent, NodeId node) {
    const SlotInput source{ObjectId::FromName(std::to_string(slot)), {{1, 1}}};
    requests_.On(kCoordinator, protocol::OneOrder(target_, kRequest, ++attempts_,
                                                  {.slot = slot,
                                                   .parents = TreeSlot{.parent = parent}.parents(),
                                                   .stripes = layout_.all_stripes(),
                                                   .children = 2,  // at most
                                                   .node = node,
                                                   .inputs = {source}}));
  }
  void AssignTree() {
    Assign(1, 2, NodeId{1});
    Assign(2, 4, NodeId{2});
    Assign(3, 2, NodeId{3});
    Assign(4, 0, NodeId{4});
    outbox_.Take();
  }
  // Whom an action of this kind was meant for, in order.
  template <typename Body>
  std::vector<std::uint64_t> Told() {
    std::vector<std::uint64_t> to;
    for (const Action& action : outbox_.Take()) {
      if (std::holds_alternative<Body>(action.body)) to.push_back(Raw(action.to));
    }
    return to;
  }

 protected:
  const ObjectId target_ = ObjectId::FromName("target");
  const Layout layout_ = Layout::For(1 << 20);
  DirectoryOptions options_;
  ShardClock clock_{Time{}};
  RecoveryWindow window_{Time{}, Duration{0}, Duration{0}};
  Stamps stamps_{1};
  NodeTable nodes_;
  ObjectBook objects_;
  InlineBudget inlined_{0, 0};
  Tombstones tombstones_;
  EndedReductions ended_;
  Agenda agenda_;
  Outbox outbox_;
  Post post_{outbox_, nodes_, tombstones_, ended_, clock_};
  Versions versions_{agenda_, inlined_, ended_, nodes_, post_};
  KeepApart apart_;
  BlockedPairs pairs_;
  ReductionOrders orders_{options_, clock_, stamps_, nodes_,   objects_,
                          apart_,   pairs_, post_,   versions_};
  OwnerBook owners_;
  OwnerClock owner_clock_{true};
  Ownership ownership_{options_, clock_,  window_,      nodes_,  stamps_,
                       objects_, owners_, owner_clock_, agenda_, post_};
  InlinePace pace_{0, Duration{0}};
  ShardFolds folds_{clock_, stamps_, nodes_, objects_, pace_, post_, versions_, ownership_};
  ReductionRequests requests_{options_, clock_, window_,   nodes_,  objects_,   tombstones_, ended_,
                              agenda_,  post_,  versions_, orders_, ownership_, folds_};
  std::uint64_t attempts_ = 0;
};

TEST_F(ReductionParts, AnOrderRenewsWhatIsAboveAndNothingElse) {
  AssignTree();
  const Version first = tree().Find(1)->version;
  const Version third = tree().Find(3)->version;
  const Version root = tree().Find(4)->version;
  Assign(1, 2, NodeId{5});
  EXPECT_THAT(Told<SlotAssigned>(), ElementsAre(5, 2, 4));
  EXPECT_LT(first, tree().Find(1)->version);
  EXPECT_LT(root, tree().Find(4)->version);
  EXPECT_EQ(tree().Find(3)->version, third);
  EXPECT_EQ(record().version, tree().Find(4)->version);  // the root's is the target's
}

TEST_F(ReductionParts, WhoeverExecutedTheSlotBeforeLetsGoOfIt) {
  AssignTree();
  Assign(1, 2, NodeId{5});
  EXPECT_THAT(Told<SlotDropped>(), ElementsAre(1));
}

TEST_F(ReductionParts, AnOldAttemptChangesNothing) {
  AssignTree();
  attempts_ = 0;
  Assign(1, 2, NodeId{5});
  EXPECT_EQ(tree().Find(1)->order.node, NodeId{1});
  EXPECT_EQ(outbox_.size(), 0);
}

TEST_F(ReductionParts, TheCoordinatorHearsOnceThatASlotIsLost) {
  AssignTree();
  requests_.Lose(target_, record(), NodeId{3});
  requests_.Lose(target_, record(), NodeId{3});
  EXPECT_THAT(Told<SlotLost>(), ElementsAre(Raw(kCoordinator)));
  EXPECT_TRUE(tree().Find(3)->lost.has_value());
}

TEST_F(ReductionParts, NothingOfADrainedSlotIsLost) {
  AssignTree();
  record().reduction->tree.Find(3)->drained = layout_.all_stripes();
  requests_.Lose(target_, record(), NodeId{3});
  EXPECT_THAT(Told<SlotLost>(), IsEmpty());
}

TEST_F(ReductionParts, ANodeThatComesBackHearsItsOrdersAgain) {
  AssignTree();
  requests_.Resume(target_, record(), NodeId{2});
  EXPECT_THAT(Told<SlotAssigned>(), ElementsAre(2));
  requests_.Resume(target_, record(), NodeId{2});
  EXPECT_THAT(Told<SlotFeed>(), ElementsAre(2, 2));  // from 1 and 3
  EXPECT_FALSE(agenda_.empty());
}

TEST_F(ReductionParts, WithItsCoordinatorTheReductionEndsForEverybody) {
  AssignTree();
  objects_.Touch(target_, kReader);
  requests_.Lose(target_, record(), kCoordinator);
  EXPECT_FALSE(record().reduction);
  EXPECT_THAT(Told<TargetAborted>(), UnorderedElementsAre(1, 2, 3, 4, 8, 9));
}

TEST_F(ReductionParts, ABadOrderEndsIt) {
  AssignTree();
  Assign(5, 0, NodeId{5});  // a second root
  EXPECT_FALSE(record().reduction);
  EXPECT_THAT(Told<ReduceRefused>(), ElementsAre(Raw(kCoordinator)));
}

TEST_F(ReductionParts, OneTargetHasOneCoordinator) {
  requests_.On(kReader, ReduceOpen{target_, 1});
  requests_.ResolveOpens(target_, record());
  EXPECT_THAT(Told<ReduceRefused>(), ElementsAre(Raw(kReader)));
  EXPECT_EQ(record().reduction->coordinator, kCoordinator);
}

}  // namespace
}  // namespace hoplite::planner
