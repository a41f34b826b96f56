#include "planner/reduction_reports.h"

#include <algorithm>

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
  if (itself && failed->drained && event.code != ErrorCode::kResourceExhausted) return;
  orders_.MarkLost(event.object, *objects_.Find(event.object)->reduction, failed->order.slot,
                   event.code, event.message);
}

void ReductionReports::On(NodeId node, const SlotDrained& event) {
  SlotRecord* input =
      InputOf(node, event.object, event.slot, event.version, event.input, event.input_version);
  if (input != nullptr) input->drained = true;
}

void ReductionReports::On(NodeId node, const SlotProgress& event) {
  nodes_.NoteLink(node, event.bytes_per_second, event.round_trip);
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
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  if (Committed(*record, event.version)) {  // repeated: its answer was lost with a session
    transfers_.On(node, CopyComplete{event.object, event.version});
    record->table.Edit(node, [](Copy& copy) { copy.live = copy.primary = true; });
    return post_.Send(node, ReduceCommitted{event.object, event.version, 0, {}});
  }
  if (!record->reduction) return;
  ReductionRecord& reduction = *record->reduction;
  const SlotRecord* root = reduction.tree.Root();
  if (root == nullptr || root->version != event.version || root->order.node != node) return;
  reduction.committed = event.version;
  reduction.used = reduction.tree.Inputs();
  transfers_.On(node, CopyComplete{event.object, event.version});
  const ReduceCommitted committed{event.object, event.version, reduction.request, reduction.used};
  post_.Send(node, committed);
  if (reduction.coordinator != node) post_.Send(reduction.coordinator, committed);
  if (reduction.owner.owned) {
    ownership_.Accepted(reduction.coordinator, event.object, reduction.owner.number, 0,
                        reduction.vouched);
  }
  // Nobody told the root where the object is, as others are when they ask.
  if (ownership_.WasOwned(event.object)) post_.Send(node, EverOwned{event.object});
  orders_.Drop(event.object, reduction);
  reduction.tree.Clear();
}

}  // namespace hoplite::planner
