// One ReducePlanner under test, in words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/reduce_options.h"
#include "planner/reduce/reduce_planner.h"

namespace hoplite::planner {

inline constexpr NodeId kSelf{1000};

// Nodes are numbers, sources too: "source i" unless said otherwise lies on node i. Orders in words:
//   "3^4+2 @9 s1 s2"          slot 3 feeds 4, is fed by two, runs on node 9, folds sources 1 and 2
//   "3^1,4+1 @9 /0145 s1"     it makes only these stripes, for two others
//   "as one", …               the whole plan; its orders follow
class ReducePlanning : public ::testing::Test {
 public:
  ObjectId Source(int i) const { return ObjectId::FromName("source " + std::to_string(i)); }

  void Start(int sources, int wanted = 0) {
    options_.target = ObjectId::FromName("target");
    options_.dtype = DType::kFloat32;
    for (int i = 1; i <= sources; ++i) options_.sources.push_back(Source(i));
    if (wanted > 0) options_.num_objects = wanted;
    ASSERT_TRUE(CheckReduceOptions(options_));
    planner_.emplace(options_, kSelf, 7,
                     two_trees_ ? StripePlans::kTwoTrees : StripePlans::kWhatPays);
    planner_->OnOpened(link_);
  }
  void Forget() {
    options_ = {};
    attempts_.clear();
    orders_.clear();
    newest_ = 0;
  }
  void Tell(int source, int node, std::uint64_t sequence = 1) {
    planner_->OnHolder(Source(source), NodeId(node), Version{{1, sequence}}, layout_, metadata_,
                       now_);
  }
  void Arrive(int source) { Tell(source, source); }
  void Lose(std::uint32_t slot, ErrorCode code = ErrorCode::kPeerLost) {
    planner_->OnSlotLost({options_.target, 7, attempts_[slot], slot, code, "it was lost"}, now_);
  }
  // `receiver` can't connect to the node of the slot; the shard names a third, or none.
  void Block(std::uint32_t slot, int receiver, int third = 0) {
    planner_->OnSlotLost({options_.target, 7, attempts_[slot], slot, ErrorCode::kUnavailable,
                          "it can't connect", NodeId(receiver), NodeId(third)},
                         now_);
  }
  // The window is over.
  void Batch() { now_ += link_.latency + link_.overhead; }

  std::vector<std::string> Plan() {
    std::vector<NodeEvent> orders;
    next_ = planner_->Plan(now_, orders);
    std::vector<std::string> lines;
    for (const NodeEvent& order : orders) {
      Said(order);
      if (const auto* shape = std::get_if<ReduceShape>(&order)) {
        lines.push_back("shape " + std::to_string(shape->layout.size_bytes));
        continue;
      }
      const auto& said = std::get<ReduceOrders>(order);
      if (said.plan != 0) {
        orders_.clear();
        attempts_.clear();
        NoteNumber(said.plan);
        lines.emplace_back("as one");
      }
      for (const PlannedOrder& planned : said.orders) {
        lines.push_back(Note(planned.attempt, planned.order));
      }
    }
    CheckEachOnce();
    return lines;
  }

  virtual void Said(const NodeEvent& /*order*/) {}

  void NoteNumber(std::uint64_t attempt) {
    EXPECT_GT(attempt, newest_);
    newest_ = attempt;
  }
  std::string Note(std::uint64_t attempt, const SlotOrder& order) {
    NoteNumber(attempt);
    attempts_[order.slot] = attempt;
    orders_[order.slot] = order;
    return Words(order);
  }
  std::string Words(const SlotOrder& order) const {
    std::string text = std::to_string(order.slot) + "^";
    for (const std::uint32_t parent : order.parents) text += std::to_string(parent) + ",";
    if (order.root()) text += "0,";
    text.back() = '+';
    text += std::to_string(order.children) + " ";
    if (order.node == kNoNode) return text + "vacant";
    text += order.node == kSelf ? "@self" : "@" + std::to_string(Raw(order.node));
    if (order.stripes != layout_.all_stripes()) {
      text += " /";
      for (std::uint32_t stripe = 0; stripe < layout_.stripe_count; ++stripe) {
        if ((order.stripes >> stripe & 1) != 0) text += std::to_string(stripe);
      }
    }
    for (const SlotInput& input : order.inputs) text += " s" + NumberOf(input.object);
    return text;
  }
  std::string NumberOf(const ObjectId& id) const {
    for (int i = 1; i <= 10000; ++i) {
      if (Source(i) == id) return std::to_string(i);
    }
    return "?";
  }

  void CheckEachOnce() const {
    std::map<ObjectId, StripeMask> used;
    for (const auto& [slot, order] : orders_) {
      for (const SlotInput& input : order.inputs) {
        StripeMask& stripes = used[input.object];
        EXPECT_EQ(stripes & order.stripes, 0U) << "source " << NumberOf(input.object);
        stripes |= order.stripes;
      }
    }
    EXPECT_LE(used.size(), options_.num_objects.value_or(options_.sources.size()));
  }

  ReduceOptions options_{.dtype = DType::kFloat32};
  bool two_trees_ = false;  // whether they pay or not
  LinkModel link_{std::chrono::microseconds(100), Duration{0}, 1.25e9};
  Layout layout_ = Layout::For(1 << 20);
  std::string metadata_;  // of what is told
  std::optional<ReducePlanner> planner_;
  Time now_{std::chrono::milliseconds(1)};
  Time next_{};
  std::map<std::uint32_t, std::uint64_t> attempts_;
  std::map<std::uint32_t, SlotOrder> orders_;
  std::uint64_t newest_ = 0;
};

}  // namespace hoplite::planner
