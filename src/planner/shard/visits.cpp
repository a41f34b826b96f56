#include "planner/shard/visits.h"

#include <vector>

namespace hoplite::planner {

void Visits::Pay(const Visit& visit, const ObjectId& id) {
  if (visit.last) objects_.Return(id, visit.node);
  ObjectRecord* record = objects_.Find(id);
  if (record == nullptr) return;
  if (visit.change == Change::kInventoryOver) return EndInventory(id, *record, visit.node);
  // One that left and is back by now is told in its inventory's answer what still holds.
  outbox_.Silence(visit.node);
  Suspend(id, *record, visit.node);
  if (visit.change == Change::kLost) Lose(id, *record, visit.node);
  outbox_.Silence(kNoNode);
  agenda_.Add(id);
}

void Visits::Suspend(const ObjectId& id, ObjectRecord& record, NodeId node) {
  ForgetRequests(record, node);
  ownership_.Suspend(node, id);
  const Copy* known = record.table.Find(node);
  if (known == nullptr) return;
  // Its streams go on. What nothing brings yet is forgotten: it would be granted sources of which
  // it hears nothing. Its next session asks again (R13).
  record.table.Edit(node, [](Copy& copy) {
    copy.live = copy.evicting = false;
    copy.wanted &= copy.fed();
    copy.starved = false;
    copy.ForgetOrphaned();
  });
  if (!known->listed) versions_.DropCopy(id, record, node);
}

void Visits::ForgetRequests(ObjectRecord& record, NodeId node) {
  auto& reduction = record.reduction;
  if (reduction && reduction->coordinator == node) reduction->vouched = false;
  if (!record.waits) return;
  Waiting& waiting = *record.waits;
  waiting.locates.erase({node});
  waiting.subscribers.erase(node);
  waiting.DropExpectation(node);
  waiting.evictions.erase(node);
  std::erase_if(waiting.creates, [&](const PendingCreate& c) { return c.node == node; });
  std::erase_if(waiting.opens, [&](const PendingOpen& open) { return open.node == node; });
}

void Visits::Lose(const ObjectId& id, ObjectRecord& record, NodeId node) {
  record.touched.erase(node);
  ownership_.Lose(node, id);
  reductions_.Lose(id, record, node);
  versions_.DropCopy(id, record, node);
}

void Visits::EndInventory(const ObjectId& id, ObjectRecord& record, NodeId node) {
  reductions_.Resume(id, record, node);
  ownership_.EndInventory(node, id);
  const Copy* copy = record.table.Find(node);
  if (copy != nullptr && !copy->live) versions_.DropCopy(id, record, node);
}

}  // namespace hoplite::planner
