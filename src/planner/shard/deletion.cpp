#include "planner/shard/deletion.h"

#include <algorithm>

namespace hoplite::planner {

void Deletion::On(NodeId node, const Delete& event) {
  Bury(event.object, lifetime_, {.version = stamps_.NextVersion()}, {node});
}

void Deletion::On(NodeId /*node*/, const Tombstone& event) {
  const ObjectRecord* record = objects_.Find(event.object);
  const bool put_again = record != nullptr && record->version > event.version;
  // Its owner came after the tombstone had ended here, as that of what was put again.
  const bool owned_again = owners_.OwnedAfter(event.object, event.version);
  if (event.remaining <= Duration{0} || put_again || owned_again) return;
  Bury(event.object, std::min(event.remaining, lifetime_),
       {.version = event.version, .repeated = true}, {});
}

void Deletion::Bury(const ObjectId& id, Duration lifetime, const Tombstones::Entry& tombstone,
                    std::set<NodeId> told) {
  tombstones_.Insert(id, tombstone, clock_.now() + lifetime, clock_.now());
  for (const NodeId owner : owners_.OwnersOf(id)) told.insert(owner);
  owners_.Erase(id);
  if (ObjectRecord* record = objects_.Find(id)) EndObject(id, *record, told);
  for (const NodeId node : told) post_.AnswerDeleted(id, node);
}

void Deletion::EndObject(const ObjectId& id, ObjectRecord& record, std::set<NodeId>& told) {
  if (record.reduction) {
    reductions_.End(
        id, record,
        Error(ErrorCode::kDeleted, "object " + id.ToHex() + ", the target, was deleted"),
        record.reduction->coordinator);
  }
  const Waiting& waiting = record.waiting();
  told.insert(waiting.subscribers.begin(), waiting.subscribers.end());
  for (const Asking& one : waiting.locates) told.insert(one.node);
  for (const auto& [node, copy] : record.table.copies()) told.insert(node);
  // Creates that wait are refused by the next Plan, which sees the tombstone.
  if (record.waits) {
    record.waits->locates.clear();
    record.waits->expectations.clear();
    record.waits->evictions.clear();
    record.waits->loss = {};
  }
  versions_.DropKept(record);
  record.table = CopyTable(record.table.layout());
}

}  // namespace hoplite::planner
