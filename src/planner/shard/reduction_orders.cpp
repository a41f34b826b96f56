#include "planner/shard/reduction_orders.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "planner/serving/forest.h"

namespace hoplite::planner {
namespace {

std::string AddressOf(const NodeTable& nodes, NodeId node) {
  const NodeRecord* const known = nodes.Find(node);
  return known == nullptr ? "an unknown address" : known->info.address;
}

}  // namespace

void ReductionOrders::Assign(const ObjectId& id, ObjectRecord& record,
                             const PlannedOrder& planned) {
  ReductionRecord& reduction = *record.reduction;
  const std::uint32_t slot = planned.order.slot;
  const std::vector<std::uint32_t> renewed = Renewed(reduction.tree, slot);
  const SlotRecord* before = reduction.tree.Find(slot);
  const bool executed = before != nullptr && before->version;
  if (executed) post_.Send(before->order.node, SlotDropped{id, slot, before->version});
  reduction.tree.Place(planned.order, planned.attempt);
  Renew(id, record, renewed);
  for (const std::uint32_t parent : planned.order.parents) {
    const SlotRecord* above = reduction.tree.Find(parent);
    if (!executed && above != nullptr) TellFeed(id, reduction, *above, slot);
  }
  // Those who fold parts of the target may read it, too: in the order of their slots.
  if (record.table.Find(planned.order.node) == nullptr) return;
  record.table.Edit(planned.order.node,
                    [&](Copy& copy) { copy.slot = reduction.tree.SlotOf(planned.order.node); });
}

void ReductionOrders::Replace(const ObjectId& id, ObjectRecord& record, std::uint64_t plan,
                              SlotTree slots) {
  ReductionRecord& reduction = *record.reduction;
  const bool was_made = reduction.tree.HasRootVersion();
  Drop(id, reduction);
  reduction.plan = plan;
  reduction.tree = std::move(slots);
  // Nothing made by what was ordered before counts, whether somebody makes the target now or not.
  if (was_made && reduction.tree.roots().empty()) StartTarget(id, record, stamps_.NextVersion());
  std::vector<std::uint32_t> all;
  for (const auto& [slot, known] : reduction.tree.slots()) all.push_back(slot);
  Renew(id, record, all);
}

std::vector<std::uint32_t> ReductionOrders::Renewed(const SlotTree& tree, std::uint32_t slot) {
  const SlotRecord* before = tree.Find(slot);
  if (before == nullptr || !before->version) return {slot};
  std::vector<std::uint32_t> renewed{slot};
  std::ranges::copy(tree.Ancestors(slot), std::back_inserter(renewed));
  return renewed;
}

void ReductionOrders::Renew(const ObjectId& id, ObjectRecord& record,
                            const std::vector<std::uint32_t>& slots) {
  ReductionRecord& reduction = *record.reduction;
  Version target;
  for (const std::uint32_t slot : slots) {
    SlotRecord* known = reduction.tree.Find(slot);
    if (known != nullptr) NewAttempt(id, record, *known, target);
  }
  for (const std::uint32_t slot : slots) TellOrder(id, reduction, slot);
  for (const std::uint32_t slot : slots) TellFeeds(id, reduction, slot);
}

// The slot starts again, or for the first time; a root's version is the target's.
void ReductionOrders::NewAttempt(const ObjectId& id, ObjectRecord& record, SlotRecord& known,
                                 Version& target) {
  const NodeId node = known.order.node;
  const bool vacant = node == kNoNode;
  const bool root = known.order.root();
  known.drained = 0;
  known.asked = false;
  known.marks = {};
  known.version = vacant ? Version() : root && target ? target : stamps_.NextVersion();
  if (root && !target) {
    target = vacant ? stamps_.NextVersion() : known.version;
    StartTarget(id, record, target);
  }
  if (vacant) return;
  if (nodes_.Find(node) == nullptr) {
    return MarkLost(id, *record.reduction, known.order.slot,
                    {ErrorCode::kPeerLost, nodes_.NameOf(node) + " is no member any more"});
  }
  objects_.Touch(id, node);
  if (root) ListRoot(id, record, known.order);
}

// Its stripes are cut as its roots make them.
void ReductionOrders::StartTarget(const ObjectId& id, ObjectRecord& record, Version target) {
  const ReductionRecord& reduction = *record.reduction;
  std::vector<StripeGroup> groups;
  for (const std::uint32_t root : reduction.tree.roots()) {
    const SlotOrder& order = reduction.tree.Find(root)->order;
    groups.push_back({order.stripes, order.node});
  }
  const NodeId origin = groups.empty() ? kNoNode : groups.front().origin;
  versions_.Start(id, record, target, reduction.layout, reduction.metadata,
                  groups.size() > 1 ? StripeGroups::MadeBy(std::move(groups), reduction.layout)
                                    : StripeGroups(origin));
}

// It makes the target, or a part of it: others may be sent there for that.
void ReductionOrders::ListRoot(const ObjectId& id, ObjectRecord& record, const SlotOrder& root) {
  record.table.Add(root.node);
  record.table.Edit(root.node, [&](Copy& copy) {
    copy.listed = copy.primary = true;
    copy.produces = root.stripes;
    copy.live = nodes_.alive(root.node);
    copy.order = stamps_.NextRequest();
    copy.slot = record.reduction->tree.SlotOf(root.node);
  });
  Forest(record.table).SettleMaker(root.node);
  post_.Notify(id, record, root.node, LocationKind::kPartial);
}

// It is made from now on. What its node asked for in its inventory ended a copy that was not
// repeated before (R15), also one of a root that the node had not heard of.
void ReductionOrders::Relist(const ObjectId& id, ObjectRecord& record, const SlotRecord& root) {
  const NodeId node = root.order.node;
  if (record.table.Find(node) != nullptr) {
    return record.table.Edit(node, [](Copy& copy) { copy.live = true; });
  }
  if (root.lost) return;
  ListRoot(id, record, root.order);
  if (record.table.whole() && record.waits) record.waits->loss = {};
}

void ReductionOrders::TellOrder(const ObjectId& id, const ReductionRecord& reduction,
                                std::uint32_t slot) {
  const SlotRecord* known = reduction.tree.Find(slot);
  if (known == nullptr || !known->version) return;
  post_.Send(known->order.node, SlotAssigned{id, known->version, known->order, reduction.layout,
                                             reduction.fold, reduction.metadata});
}

void ReductionOrders::TellFeeds(const ObjectId& id, ReductionRecord& reduction,
                                std::uint32_t slot) {
  const SlotRecord* parent = reduction.tree.Find(slot);
  if (parent == nullptr) return;
  for (const std::uint32_t child : reduction.tree.ChildrenOf(slot)) {
    TellFeed(id, reduction, *parent, child);
  }
}

void ReductionOrders::TellFeed(const ObjectId& id, ReductionRecord& reduction,
                               const SlotRecord& parent, std::uint32_t child) {
  SlotRecord& fed = *reduction.tree.Find(child);
  if (!parent.version || !fed.version) return;
  const StripeMask share = fed.order.stripes & parent.order.stripes;
  fed.drained &= ~share;
  const NodeRecord* source = nodes_.Find(fed.order.node);
  if (source == nullptr) {
    if (fed.lost) return;
    return MarkLost(id, reduction, child,
                    {ErrorCode::kPeerLost, nodes_.NameOf(fed.order.node) + " was lost"});
  }
  if (pairs_.Blocks(parent.order.node, fed.order.node, clock_.now())) {
    return MarkBlocked(id, reduction, child, parent.order.node);
  }
  post_.Send(parent.order.node, SlotFeed{id, parent.order.slot, parent.version, child, fed.version,
                                         share, source->info});
}

void ReductionOrders::MarkLost(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot,
                               SlotFault fault) {
  SlotRecord& known = *reduction.tree.Find(slot);
  if (known.lost) return;
  known.drained = 0;
  known.lost = std::move(fault);
  TellLost(id, reduction, known);
}

void ReductionOrders::TellLost(const ObjectId& id, const ReductionRecord& reduction,
                               const SlotRecord& slot) {
  const SlotFault& fault = *slot.lost;
  NodeId third = kNoNode;
  if (fault.receiver != kNoNode) {
    third = pairs_.ThirdFor(fault.receiver, slot.order.node, nodes_, clock_.now(),
                            [](NodeId) { return true; });
  }
  post_.Send(reduction.coordinator, SlotLost{id, reduction.request, slot.attempt, slot.order.slot,
                                             fault.code, fault.message, fault.receiver, third});
}

void ReductionOrders::OnUnreachable(const ObjectId& id, ReductionRecord& reduction,
                                    std::uint32_t slot, NodeId receiver, const std::string& why) {
  const SlotRecord& known = *reduction.tree.Find(slot);
  if (known.lost) return;
  const NodeId source = known.order.node;
  if (!nodes_.alive(source)) return MarkLost(id, reduction, slot, {ErrorCode::kPeerLost, why});
  // Nor is it to read the target, or another object, from there.
  const Time until = pairs_.Note(receiver, source, why, options_.keep_apart, clock_.now());
  apart_.Insert({receiver, source}, until);
  MarkBlocked(id, reduction, slot, receiver);
}

void ReductionOrders::MarkBlocked(const ObjectId& id, ReductionRecord& reduction,
                                  std::uint32_t slot, NodeId receiver) {
  const NodeId source = reduction.tree.Find(slot)->order.node;
  std::string why = pairs_.Why(receiver, source);
  if (why.empty()) {  // a reader said so, without words
    why = fmt::format("{}: cannot connect to {}", nodes_.NameOf(source), AddressOf(nodes_, source));
  }
  MarkLost(
      id, reduction, slot,
      {ErrorCode::kUnavailable,
       fmt::format("{} at {} from {}", nodes_.NameOf(receiver), AddressOf(nodes_, receiver), why),
       receiver});
}

void ReductionOrders::MarkLostAt(const ObjectId& id, ReductionRecord& reduction, NodeId node) {
  for (const auto& [slot, known] : reduction.tree.slots()) {
    if (known.order.node != node || !known.version || known.all_drained()) continue;
    MarkLost(id, reduction, slot, {ErrorCode::kPeerLost, nodes_.NameOf(node) + " was lost"});
  }
}

void ReductionOrders::Repeat(const ObjectId& id, ObjectRecord& record, NodeId node) {
  ReductionRecord& reduction = *record.reduction;
  for (const auto& [slot, known] : reduction.tree.slots()) {
    if (known.order.node != node || !known.version) continue;
    TellOrder(id, reduction, slot);
    if (known.order.root()) Relist(id, record, known);
    for (const std::uint32_t child : reduction.tree.ChildrenOf(slot)) {
      const SlotRecord& fed = *reduction.tree.Find(child);
      const StripeMask share = fed.order.stripes & known.order.stripes;
      if ((share & ~fed.drained) != 0) TellFeed(id, reduction, known, child);
    }
  }
}

void ReductionOrders::Drop(const ObjectId& id, const ReductionRecord& reduction) {
  for (const auto& [slot, record] : reduction.tree.slots()) {
    if (record.version) post_.Send(record.order.node, SlotDropped{id, slot, record.version});
  }
}

}  // namespace hoplite::planner
