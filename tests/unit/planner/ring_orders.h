// The plan of a striped reduction, made by hand (R64).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/layout.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// The members stand in ring order. Member i of m, from 0, executes slot i + 1, its ring slot, and,
// of the stripes that end there, root m + i + 1. Each has one source, named after its node.
class RingOrders {
 public:
  RingOrders(const Layout& layout, std::vector<NodeId> members)
      : layout_(layout), members_(std::move(members)) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  std::uint32_t ring(std::uint32_t member) const { return member + 1; }
  std::uint32_t root(std::uint32_t member) const { return size() + member + 1; }
  // The stripes that end at the member.
  StripeMask ending(std::uint32_t member) const { return Below(member + 1) & ~Below(member); }

  std::vector<SlotOrder> All() const {
    std::vector<SlotOrder> orders;
    for (std::uint32_t i = 0; i < size(); ++i) orders.push_back(Ring(i));
    for (std::uint32_t i = 0; i < size(); ++i) {
      if (ending(i) != 0) orders.push_back(Root(i));
    }
    for (SlotOrder& each : orders) {
      for (const SlotOrder& child : orders) {
        each.children += std::ranges::count(child.parents, each.slot);
      }
    }
    return orders;
  }
  static ObjectId SourceOf(NodeId node) {
    return ObjectId::FromName("source of " + ToString(node));
  }

 private:
  StripeMask Below(std::uint32_t member) const {
    const std::uint32_t end = layout_.stripe_count * member / size();
    return end == kMaxStripes ? ~StripeMask{0} : (StripeMask{1} << end) - 1;
  }
  SlotOrder Ring(std::uint32_t member) const {
    SlotOrder order{
        .slot = ring(member), .parents = {}, .stripes = layout_.all_stripes() & ~ending(member)};
    const std::uint32_t next = (member + 1) % size();
    if ((order.stripes & ~ending(next)) != 0) order.parents.push_back(ring(next));
    if ((order.stripes & ending(next)) != 0) order.parents.push_back(root(next));
    Give(order, members_[member]);
    return order;
  }
  SlotOrder Root(std::uint32_t member) const {
    SlotOrder order{.slot = root(member), .parents = {}, .stripes = ending(member)};
    Give(order, members_[member]);
    return order;
  }
  static void Give(SlotOrder& order, NodeId node) {
    order.node = node;
    order.inputs = {{SourceOf(node), {{1, 1}}}};
  }

  Layout layout_;
  std::vector<NodeId> members_;
};

}  // namespace hoplite::planner
