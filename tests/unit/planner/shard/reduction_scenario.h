// The shard's side of a reduction, in words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "unit/planner/ring_orders.h"
#include "unit/planner/scenario.h"

namespace hoplite::planner {

// The coordinator is C, who executes no slot. Three slots in a tree: 1 and 3 feed 2.
class Reductions : public Scenario {
 public:
  using Self = Reductions&;

  Self Open(const std::string& node, std::uint64_t request) {
    Say(node, ReduceOpen{object_, request});
    return *this;
  }
  Self Open(const std::string& node) { return Open(node, request_); }
  // Another reduction than before.
  Self OpenAnother(const std::string& node) { return Open(node, ++request_); }
  Self Shape() {
    Say("C", ReduceShape{object_, request_, layout_, Fold{}, metadata_});
    return *this;
  }
  // "" vacates. Each slot has one source, named after it.
  Self Assign(std::uint32_t slot, const std::string& node, std::uint32_t parent,
              std::uint32_t children, std::uint64_t attempt = 0) {
    SlotOrder order{
        .slot = slot, .parents = {}, .stripes = layout_.all_stripes(), .children = children};
    if (parent != 0) order.parents = {parent};
    if (!node.empty()) {
      order.node = Id(node);
      order.inputs = {{ObjectId::FromName("source " + std::to_string(slot)), {{1, 1}}}};
    }
    Say("C", protocol::OneOrder(object_, request_, attempt != 0 ? attempt : ++attempts_, order));
    return *this;
  }
  Self LeafOf2(std::uint32_t slot, const std::string& node) { return Assign(slot, node, 2, 0); }
  Self Root(const std::string& node) { return Assign(2, node, 0, 2); }
  Self Tree() {
    Join("C").Join("A").Join("B").Join("D");
    Open("C").Shape().LeafOf2(1, "A").Root("B").LeafOf2(3, "D");
    Ignore();
    return *this;
  }
  Self Drained(const std::string& node, std::uint32_t slot, std::uint32_t input) {
    Say(node, SlotDrained{object_, slot, SlotAt(node, slot), input, FeedAt(node, slot, input)});
    return *this;
  }
  Self StreamLost(const std::string& node, std::uint32_t slot, std::uint32_t input) {
    Say(node, SlotFailed{object_, slot, SlotAt(node, slot), input, FeedAt(node, slot, input),
                         ErrorCode::kPeerLost, "it broke"});
    return *this;
  }
  Self Failed(const std::string& node, std::uint32_t slot) {
    Say(node, SlotFailed{object_, slot, SlotAt(node, slot), 0, {}, ErrorCode::kNotFound, "gone"});
    return *this;
  }
  Self Commit(const std::string& node) {
    Say(node, ReduceCommit{object_, SlotAt(node, 2)});
    return *this;
  }
  Self MakesProgress(const std::string& node, std::uint32_t slot, std::uint32_t blocks) {
    Say(node, SlotProgress{object_, slot, SlotAt(node, slot), Marks(blocks)});
    return *this;
  }
  Self Close(ErrorCode code = ErrorCode::kCancelled) {
    Say("C", ReduceClose{object_, request_, code, "it was enough"});
    return *this;
  }

  HolderView HolderAt(const std::string& node) {
    for (const HolderView& holder : state_->Find(object_)->holders) {
      if (holder.node == Id(node)) return holder;
    }
    ADD_FAILURE() << node << " holds nothing";
    return {};
  }
  Self Lose(const std::string& node) {
    Scenario::Lose(node);
    return *this;
  }
  Self Connect(const std::string& node) {
    Scenario::Connect(node);
    return *this;
  }

  std::uint64_t request_ = 5;
  std::uint64_t attempts_ = 0;
};

// A striped reduction of four stripes whose coordinator is C, who executes no slot.
class Striped : public Reductions {
 public:
  using Self = Striped&;
  using Names = std::vector<std::string>;

  Striped() { layout_ = Layout::For(64 * 16 * 1024, 4); }

  RingOrders Ring(const Names& members) {
    std::vector<NodeId> nodes;
    for (const std::string& member : members) nodes.push_back(Id(member));
    return {layout_, nodes};
  }
  // Each order has a number of its own, the plan the last. 0: the next ones.
  Self Order(std::vector<SlotOrder> orders, std::uint64_t attempt = 0) {
    ReduceOrders plan{object_, request_, attempt, {}};
    for (SlotOrder& order : orders) {
      plan.orders.push_back({attempt != 0 ? attempt : ++attempts_, std::move(order)});
    }
    if (attempt == 0) plan.plan = ++attempts_;
    Say("C", plan);
    return *this;
  }
  // A, B and D, in ring order, make a target; L and M, and the reader R, are there.
  Self Begin() {
    Join("A").Join("B").Join("D").Join("C").Join("L").Join("M").Join("R");
    OpenAnother("C").Shape();
    Order(Ring({"A", "B", "D"}).All());
    Ignore();
    return *this;
  }
  Version target() const { return state_->Find(object_)->version; }
  // It reads what its roots, if any, do not make.
  Self Reads(const std::string& node) {
    Say(node, protocol::Want{object_, target(), layout_.empty_marks(), false, false});
    return *this;
  }
  Self HasAll(const std::string& node) {
    Say(node, protocol::Progress{object_, target(), layout_.full_marks(), 0, {}});
    return *this;
  }
  Self Asks(const std::string& node) {
    Say(node, ReduceCommit{object_, target()});
    return *this;
  }
  Self AllAsk() { return Asks("A").Asks("B").Asks("D"); }
  Version At(std::uint32_t slot) const {
    for (const SlotView& view : state_->Find(object_)->slots) {
      if (view.slot == slot) return view.version;
    }
    ADD_FAILURE() << "no slot " << slot;
    return {};
  }

  // As those of Reductions, in which a Striped goes on.
  Self Lose(const std::string& node) {
    Reductions::Lose(node);
    return *this;
  }
  Self Drained(const std::string& node, std::uint32_t slot, std::uint32_t input) {
    Reductions::Drained(node, slot, input);
    return *this;
  }
  Self Connect(const std::string& node) {
    Reductions::Connect(node);
    return *this;
  }
};

}  // namespace hoplite::planner
