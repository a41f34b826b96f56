#include "planner/shard/reduction_reports.h"

#include <algorithm>
#include <set>

namespace hoplite::planner {
namespace {

bool Committed(const ObjectRecord& record, Version version) {
  if (record.version != version) return false;
  return record.reduction ? record.reduction->committed == version : record.exists();
}

}  // namespace

SlotRecord* ReductionReports::Executes(NodeId node, const ObjectId& id, std::uint32_t slot,
                                       Version version) {
  ObjectRecord* record = objects_.Find(id);
  if (record == nullptr || !record->reduction) return nullptr;
  SlotRecord* known = record->reduction->tree.Find(slot);
  const bool executes = known != nullptr && known->version == version && known->order.node == node;
  return executes ? known : nullptr;
}

SlotRecord* ReductionReports::InputOf(NodeId node, const ObjectId& id, std::uint32_t slot,
                                      Version version, std::uint32_t input, Version input_version) {
  if (Executes(node, id, slot, version) == nullptr) return nullptr;
  SlotRecord* child = objects_.Find(id)->reduction->tree.Find(input);
  if (child == nullptr ||
      std::ranges::find(child->order.parents, slot) == child->order.parents.end())
    return nullptr;
  const bool current = input_version && child->version == input_version;
  return current ? child : nullptr;
}

void ReductionReports::On(NodeId node, const SlotFailed& event) {
  const bool itself = event.input == 0;
  const SlotRecord* failed = itself ? Executes(node, event.object, event.slot, event.version)
                                    : InputOf(node, event.object, event.slot, event.version,
                                              event.input, event.input_version);
  // Nothing of a drained one is needed. If it ever is again, its parent says that it isn't there,
  // or it has no memory to make it once more.
  if (failed == nullptr) return;
  if (itself && failed->all_drained() && event.code != ErrorCode::kResourceExhausted) return;
  ReductionRecord& reduction = *objects_.Find(event.object)->reduction;
  const std::uint32_t slot = failed->order.slot;
  if (!itself && event.code == ErrorCode::kUnavailable) {
    return orders_.OnUnreachable(event.object, reduction, slot, node, event.message);
  }
  orders_.MarkLost(event.object, reduction, slot, {event.code, event.message});
}

void ReductionReports::On(NodeId node, const SlotDrained& event) {
  SlotRecord* input =
      InputOf(node, event.object, event.slot, event.version, event.input, event.input_version);
  if (input == nullptr) return;
  const SlotOrder& folding = objects_.Find(event.object)->reduction->tree.Find(event.slot)->order;
  input->drained |= input->order.stripes & folding.stripes;
  orders_.OnReached(node, input->order.node);
}

void ReductionReports::On(NodeId node, const SlotProgress& event) {
  nodes_.NoteLink(node, event.bytes_per_second, event.round_trip, clock_.now());
  SlotRecord* known = Executes(node, event.object, event.slot, event.version);
  if (known == nullptr) {
    if (window_.collecting()) return window_.Defer(node, event);
    const ObjectRecord* made = objects_.Find(event.object);
    // The root that made it repeats its commit, and ends when that is answered.
    if (made != nullptr && Committed(*made, event.version)) return;
    return post_.Send(node, SlotDropped{event.object, event.slot, event.version});
  }
  ObjectRecord& record = *objects_.Find(event.object);
  if (record.reduction->layout.valid(event.marks)) known->marks = event.marks;
  if (!known->order.root() || record.table.Find(node) == nullptr) return;
  record.table.Edit(node, [](Copy& copy) { copy.live = true; });
  record.table.RaiseMarks(node, event.marks);
}

void ReductionReports::On(NodeId node, const ReduceCommit& event) {
  // Whether it was committed before, by whom, is known when all copies are.
  if (window_.collecting()) return window_.Defer(node, event);
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  if (Committed(*record, event.version)) return CommitAgain(node, event.object, *record);
  if (!record->reduction) return;
  SlotRecord* root = record->reduction->tree.RootAt(node);
  if (root == nullptr || root->version != event.version) return;
  root->asked = true;
  if (record->reduction->tree.striped()) return;  // see ResolveCommit
  transfers_.On(node, CopyComplete{event.object, event.version});
  Commit(event.object, *record);
}

// A root of some stripes has a part of the target until its node says that it has all.
void ReductionReports::CommitAgain(NodeId node, const ObjectId& id, ObjectRecord& record) {
  const Copy* copy = record.table.Find(node);
  const bool part =
      record.reduction ? record.reduction->tree.striped() : copy != nullptr && !copy->final();
  const bool whole = !part || (copy != nullptr && copy->has_all);
  if (whole) transfers_.On(node, CopyComplete{id, record.version});
  if (record.table.Find(node) != nullptr) {
    record.table.Edit(node, [](Copy& kept) { kept.live = kept.primary = true; });
  }
  post_.Send(node, ReduceCommitted{id, record.version, 0, {}});
}

// Until somebody has all of it, each of the roots' nodes could take its stripes away.
void ReductionReports::ResolveCommit(const ObjectId& id, ObjectRecord& record) {
  if (!record.open_reduction() || !record.reduction->tree.striped()) return;
  const SlotTree& tree = record.reduction->tree;
  bool whole = false;
  for (const std::uint32_t slot : tree.roots()) {
    const SlotRecord& root = *tree.Find(slot);
    if (!root.asked || root.lost) return;
    const Copy* copy = record.table.Find(root.order.node);
    whole = whole || (copy != nullptr && copy->live && copy->has_all);
  }
  if (whole) Commit(id, record);
}

void ReductionReports::Commit(const ObjectId& id, ObjectRecord& record) {
  ReductionRecord& reduction = *record.reduction;
  reduction.committed = record.version;
  reduction.used = reduction.tree.Inputs();
  std::vector<NodeId> makers;
  bool coordinator_too = false;
  for (const std::uint32_t root : reduction.tree.roots()) {
    makers.push_back(reduction.tree.Find(root)->order.node);
    coordinator_too = coordinator_too || makers.back() == reduction.coordinator;
  }
  const ReduceCommitted committed{id, record.version, reduction.request, reduction.used};
  for (const NodeId node : makers) {
    post_.Send(node, committed);
    // The commit is the END that it lacked, and it may be the only one that has all.
    const Copy* copy = record.table.Find(node);
    if (copy != nullptr && copy->live && copy->has_all) {
      transfers_.On(node, CopyComplete{id, record.version});
    }
  }
  if (!coordinator_too) post_.Send(reduction.coordinator, committed);
  if (reduction.owner.owned) {
    ownership_.Accepted(reduction.coordinator, id, reduction.owner, 0, reduction.vouched);
  }
  // Nobody told those who made it where the object is, as others are when they ask.
  if (ownership_.WasOwned(id)) {
    for (const NodeId node : makers) post_.Send(node, EverOwned{id});
  }
  orders_.Drop(id, reduction);
  if (reduction.everyone_reads) GiveCopies(id, record);
  reduction.tree.Clear();
}

// Whoever made a part of it by stripes is about to have all; others have asked for it already.
void ReductionReports::GiveCopies(const ObjectId& id, const ObjectRecord& record) {
  std::set<NodeId> without;
  for (const auto& [number, slot] : record.reduction->tree.slots()) {
    const NodeId node = slot.order.node;
    if (node != kNoNode && record.table.Find(node) == nullptr) without.insert(node);
  }
  for (const NodeId node : without) post_.Send(node, TakeCopy{id, record.version});
}

}  // namespace hoplite::planner
