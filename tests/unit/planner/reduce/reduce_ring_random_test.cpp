// Reductions by stripes under random losses: whatever a shard reports in whatever order, a plan makes
// each source's sum once, and all ends with k sources in one plan.
#include <algorithm>
#include <random>
#include <set>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "planner/reduce/slot_tree.h"
#include "reduce_planning.h"
#include "sound_plan.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

class RandomRing : public ReducePlanning {
 public:
  void Run(unsigned seed);
  int ended_by_stripes_ = 0;
  int ended_as_trees_ = 0;
  int planned_anew_ = 0;

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  int Node() { return Below(8) == 0 ? 1000 : 1 + Below(nodes_); }
  int AnySource() { return 1 + Below(count_); }
  bool ByStripes() const {
    return std::ranges::any_of(orders_, [this](const auto& entry) {
      return entry.second.stripes != layout_.all_stripes();
    });
  }

  void Begin();
  void Step();
  void LoseSomeSlot();
  void LoseNode(int node);
  void DeleteOne();
  void PlanAndCheck();
  void Said(const NodeEvent& order) override;
  void Report(const SlotLost& lost);
  void CheckRepeated() const;
  void End();

  std::mt19937 random_;
  int count_ = 0;
  int nodes_ = 0;
  int deleted_ = 0;
  std::vector<SlotLost> said_before_;  // of attempts that may be over
  SlotTree shard_;                     // what the target's shard makes of all orders
};

void RandomRing::Begin() {
  Forget();
  said_before_.clear();
  options_.everyone_reads = true;
  layout_ = Layout::For(64 << 20, static_cast<std::uint32_t>(2 + Below(15)));
  nodes_ = 2 + Below(12);
  count_ = 2 + Below(nodes_ + nodes_ / 2);
  deleted_ = 0;
  Start(count_, std::max(2, count_ - Below(3)));
  for (int source = 1; source <= count_; ++source) {
    if (Below(6) != 0) Tell(source, Below(3) == 0 ? Node() : source);
  }
}

// The shard finds nothing wrong with any order.
void RandomRing::Said(const NodeEvent& order) {
  if (std::holds_alternative<ReduceShape>(order)) shard_ = SlotTree(layout_.all_stripes());
  const auto* said = std::get_if<ReduceOrders>(&order);
  if (said == nullptr) return;
  if (said->plan != 0) {
    Result<SlotTree> taken = SlotTree::Of(layout_.all_stripes(), said->orders);
    ASSERT_TRUE(taken) << taken.error().message;
    shard_ = *std::move(taken);
    return;
  }
  for (const PlannedOrder& planned : said->orders) {
    EXPECT_EQ(shard_.WrongWith(planned.order), "");
    EXPECT_EQ(shard_.TwiceIn(planned.order), "");
    shard_.Place(planned.order, planned.attempt);
  }
}

void RandomRing::Report(const SlotLost& lost) {
  SlotRecord* known = shard_.Find(lost.slot);
  if (known != nullptr && known->attempt == lost.attempt) known->lost = SlotFault{};
  planner_->OnSlotLost(lost, now_);
}

ErrorCode SomeFault(int which) {
  return which < 4 ? ErrorCode::kPeerLost
                   : (which == 4 ? ErrorCode::kResourceExhausted : ErrorCode::kNotFound);
}

void RandomRing::LoseSomeSlot() {
  if (orders_.empty()) return;
  const auto slot = std::next(orders_.begin(), Below(static_cast<int>(orders_.size())))->first;
  const SlotLost lost{options_.target, 7, attempts_[slot], slot, SomeFault(Below(6)),
                      "it was lost"};
  said_before_.push_back(lost);
  Report(lost);
}

// All that it executes is reported, and the coordinator may plan after each report.
void RandomRing::LoseNode(int node) {
  for (int source = 1; source <= count_; ++source) {
    planner_->OnHolderGone(Source(source), NodeId(node));
  }
  const std::map<std::uint32_t, std::uint64_t> attempts = attempts_;
  const std::map<std::uint32_t, SlotOrder> orders = orders_;
  for (const auto& [slot, order] : orders) {
    if (order.node != NodeId(node)) continue;
    Report({options_.target, 7, attempts.at(slot), slot, ErrorCode::kPeerLost, "its node is gone"});
    if (Below(2) == 0) PlanAndCheck();
  }
}

// So few that enough are left.
void RandomRing::DeleteOne() {
  if (deleted_ >= count_ - static_cast<int>(*options_.num_objects)) return;
  planner_->OnDeleted(Source(AnySource()));
  ++deleted_;
}

void RandomRing::Step() {
  now_ += microseconds(Below(4) == 0 ? Below(500'000) : Below(300));
  switch (Below(12)) {
    case 0:
    case 1:
    case 2:
      Tell(AnySource(), Node(), 1 + static_cast<std::uint64_t>(Below(3)));
      break;
    case 3:
      planner_->OnHolderGone(Source(AnySource()), NodeId(static_cast<std::uint64_t>(Node())));
      break;
    case 4:
      if (Below(3) == 0) LoseSomeSlot();
      break;
    case 5:
      if (Below(6) == 0) LoseNode(Node());
      break;
    case 6:
      if (!said_before_.empty()) {
        Report(said_before_[random_() % said_before_.size()]);
      }
      break;
    case 7:
      if (Below(8) == 0) DeleteOne();
      break;
    default:
      PlanAndCheck();
  }
}

// A second look brings nothing new.
void RandomRing::PlanAndCheck() {
  const std::vector<std::string> lines = Plan();
  planned_anew_ += std::ranges::count(lines, "as one") != 0 ? 1 : 0;
  EXPECT_TRUE(planner_->failure() || next_ > now_);
  const Time next = next_;
  EXPECT_TRUE(Plan().empty());
  EXPECT_EQ(next_, next);
  EXPECT_LE(SourcesIn(orders_), *options_.num_objects);
  if (ByStripes()) EXPECT_EQ(WrongWith(orders_, layout_), "");
  CheckRepeated();
}

// A shard that forgot everything knows the present ring again, or nothing if that is lost.
void RandomRing::CheckRepeated() const {
  std::map<std::uint32_t, SlotOrder> known;
  std::map<std::uint32_t, std::uint64_t> attempts;
  const auto hear = [&](std::uint64_t attempt, const SlotOrder& order) {
    if (attempt <= attempts[order.slot]) return;
    attempts[order.slot] = attempt;
    known[order.slot] = order;
  };
  for (const NodeEvent& event : planner_->Orders()) {
    const auto* said = std::get_if<ReduceOrders>(&event);
    if (said == nullptr) continue;
    EXPECT_LE(said->plan, newest_);
    for (const PlannedOrder& planned : said->orders) hear(planned.attempt, planned.order);
  }
  if (planner_->failure()) return;
  if (planner_->Describe() == "no plan") {
    EXPECT_TRUE(known.empty());
  } else if (ByStripes()) {
    EXPECT_EQ(known, orders_);
  }
}

// Everything comes back, on a node of its own.
void RandomRing::End() {
  for (int source = 1; source <= count_; ++source) Tell(source, 500 + source, 9);
  for (int looks = 0; looks < 10; ++looks) {
    PlanAndCheck();
    now_ += seconds(1);
  }
  EXPECT_EQ(next_, kNever);
  if (planner_->failure()) {  // no node had memory for a tree
    EXPECT_EQ(planner_->failure()->code, ErrorCode::kResourceExhausted);
    return;
  }
  EXPECT_EQ(WrongWith(orders_, layout_), "");
  EXPECT_EQ(SourcesIn(orders_), *options_.num_objects);
  for (const auto& [slot, order] : orders_) EXPECT_NE(order.node, kNoNode) << "slot " << slot;
  ++(ByStripes() ? ended_by_stripes_ : ended_as_trees_);
}

void RandomRing::Run(unsigned seed) {
  SCOPED_TRACE(seed);
  random_.seed(seed);
  Begin();
  for (int step = 0; step < 80 && !HasFailure(); ++step) Step();
  if (!HasFailure()) End();
}

TEST_F(RandomRing, EveryPlanIsSoundAndTheLastHasKSources) {
  for (unsigned seed = 0; seed < 600 && !HasFailure(); ++seed) Run(seed);
  EXPECT_GT(ended_by_stripes_, 100);
  EXPECT_GT(ended_as_trees_, 100);
  EXPECT_GT(planned_anew_, 600);
}

TEST_F(RandomRing, TwoTreesAreSoundToo) {
  two_trees_ = true;
  for (unsigned seed = 0; seed < 600 && !HasFailure(); ++seed) Run(seed);
  EXPECT_GT(ended_by_stripes_, 100);
  EXPECT_GT(planned_anew_, 600);
}

}  // namespace
}  // namespace hoplite::planner
