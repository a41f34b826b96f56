#include "planner/reduction_orders.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hoplite::planner {

void ReductionOrders::Assign(const ObjectId& id, ObjectRecord& record, const SlotAssign& event) {
  ReductionRecord& reduction = *record.reduction;
  const std::uint32_t slot = event.order.slot;
  const std::vector<std::uint32_t> renewed = Renewed(reduction.tree, slot);
  const SlotRecord* before = reduction.tree.Find(slot);
  if (before != nullptr && before->version) {
    post_.Send(before->order.node, SlotDropped{id, slot, before->version});
  }
  reduction.tree.Place(event.order, event.attempt);
  for (const std::uint32_t each : renewed) NewAttempt(id, record, each);
  for (const std::uint32_t each : renewed) TellOrder(id, reduction, each);
  for (const std::uint32_t each : renewed) TellFeeds(id, reduction, each);
  if (renewed.size() == 1) TellFeed(id, reduction, slot);
  // Those who fold parts of the target may read it, too: in the order of their slots.
  if (record.table.Find(event.order.node) == nullptr) return;
  record.table.Edit(event.order.node, [&](Copy& copy) { copy.slot = slot; });
}

std::vector<std::uint32_t> ReductionOrders::Renewed(const SlotTree& tree, std::uint32_t slot) {
  std::vector<std::uint32_t> renewed{slot};
  const SlotRecord* before = tree.Find(slot);
  if (before == nullptr || !before->version) return renewed;
  std::ranges::copy(tree.Ancestors(slot), std::back_inserter(renewed));
  return renewed;
}

// The slot starts again, or for the first time; a root's version is the target's.
void ReductionOrders::NewAttempt(const ObjectId& id, ObjectRecord& record, std::uint32_t slot) {
  ReductionRecord& reduction = *record.reduction;
  SlotRecord* placed = reduction.tree.Find(slot);
  if (placed == nullptr) return;
  SlotRecord& known = *placed;
  const bool vacant = known.order.node == kNoNode;
  const bool root = known.order.root();
  known.drained = false;
  known.marks = {};
  known.version = vacant ? Version() : stamps_.NextVersion();
  if (root)
    versions_.Start(id, record, vacant ? stamps_.NextVersion() : known.version, reduction.layout,
                    reduction.metadata, known.order.node);
  if (vacant) return;
  if (nodes_.Find(known.order.node) == nullptr) {
    return MarkLost(id, reduction, slot, ErrorCode::kPeerLost,
                    nodes_.NameOf(known.order.node) + " is no member any more");
  }
  objects_.Touch(id, known.order.node);
  if (root) ListRoot(id, record, known.order.node);
}

// It makes the target: others may be sent there for it.
void ReductionOrders::ListRoot(const ObjectId& id, ObjectRecord& record, NodeId node) {
  record.table.Add(node);
  record.table.Edit(node, [&](Copy& copy) {
    copy.listed = copy.primary = true;
    copy.produces = record.table.layout().all_stripes();
    copy.live = nodes_.alive(node);
    copy.order = stamps_.NextRequest();
  });
  post_.Notify(id, record, node, LocationKind::kPartial);
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
  for (const std::uint32_t child : reduction.tree.ChildrenOf(slot)) TellFeed(id, reduction, child);
}

void ReductionOrders::TellFeed(const ObjectId& id, ReductionRecord& reduction,
                               std::uint32_t child) {
  SlotRecord& fed = *reduction.tree.Find(child);
  if (fed.order.root()) return;
  const std::uint32_t above = fed.order.parents.front();
  const SlotRecord* parent = reduction.tree.Find(above);
  if (parent == nullptr || !parent->version || !fed.version) return;
  fed.drained = false;
  const NodeRecord* source = nodes_.Find(fed.order.node);
  if (source == nullptr) {
    if (fed.lost) return;
    return MarkLost(id, reduction, child, ErrorCode::kPeerLost,
                    nodes_.NameOf(fed.order.node) + " was lost");
  }
  post_.Send(parent->order.node, SlotFeed{id, above, parent->version, child, fed.version,
                                          fed.order.stripes & parent->order.stripes, source->info});
}

void ReductionOrders::MarkLost(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot,
                               ErrorCode code, std::string message) {
  SlotRecord& known = *reduction.tree.Find(slot);
  if (known.lost) return;
  known.drained = false;
  known.lost = SlotFault{code, message};
  post_.Send(reduction.coordinator,
             SlotLost{id, reduction.request, known.attempt, slot, code, std::move(message)});
}

void ReductionOrders::MarkLostAt(const ObjectId& id, ReductionRecord& reduction, NodeId node) {
  for (const auto& [slot, known] : reduction.tree.slots()) {
    if (known.order.node != node || !known.version || known.drained) continue;
    MarkLost(id, reduction, slot, ErrorCode::kPeerLost, nodes_.NameOf(node) + " was lost");
  }
}

void ReductionOrders::Repeat(const ObjectId& id, ObjectRecord& record, NodeId node) {
  ReductionRecord& reduction = *record.reduction;
  for (const auto& [slot, known] : reduction.tree.slots()) {
    if (known.order.node != node || !known.version) continue;
    TellOrder(id, reduction, slot);
    if (known.order.root() && record.table.Find(node) != nullptr) {
      record.table.Edit(node, [](Copy& copy) { copy.live = true; });  // it is made from now on
    }
    for (const std::uint32_t child : reduction.tree.ChildrenOf(slot)) {
      if (!reduction.tree.Find(child)->drained) TellFeed(id, reduction, child);
    }
  }
}

void ReductionOrders::Drop(const ObjectId& id, const ReductionRecord& reduction) {
  for (const auto& [slot, record] : reduction.tree.slots()) {
    if (record.version) post_.Send(record.order.node, SlotDropped{id, slot, record.version});
  }
}

}  // namespace hoplite::planner
