// How objects and copies end: deletion marks, and eviction by permission.
#include <set>

#include "planner/directory_internal.h"

namespace hoplite::planner {

void DirectoryState::State::On(NodeId node, const Delete& event) {
  MarkDeleted(event.object, options.tombstone, {stamps.NextVersion()}, {node});
}

void DirectoryState::State::On(NodeId /*node*/, const Tombstone& event) {
  const ObjectRecord* record = objects.Find(event.object);
  const bool put_again = record != nullptr && record->version > event.version;
  if (event.remaining <= Duration{0} || put_again) return;
  MarkDeleted(event.object, std::min(event.remaining, options.tombstone), {event.version, true},
              {});
}

void DirectoryState::State::MarkDeleted(const ObjectId& id, Duration lifetime,
                                        const DeletionMark& mark, std::set<NodeId> told) {
  marks.Insert(id, mark, clock.now() + lifetime, clock.now());
  agenda.Add(id);
  if (ObjectRecord* record = objects.Find(id)) {
    if (record->reduction) {
      requests.End(
          id, *record,
          Error(ErrorCode::kDeleted, "object " + id.ToShortString() + ", the target, was deleted"),
          record->reduction->coordinator);
    }
    const Waiting& waiting = record->waiting();
    told.insert(waiting.subscribers.begin(), waiting.subscribers.end());
    told.insert(waiting.locates.begin(), waiting.locates.end());
    for (const auto& [node, copy] : record->table.copies()) told.insert(node);
    // Creates that wait are refused by the next Plan, which sees the mark.
    if (record->waits) {
      record->waits->locates.clear();
      record->waits->evictions.clear();
      record->waits->lost_holder.clear();
    }
    versions.DropBytes(*record);
    record->table = CopyTable(record->table.layout());
  }
  for (const NodeId node : told) post.AnswerDeleted(id, node);
}

void DirectoryState::State::On(NodeId node, const EvictAsk& event) {
  if (window.collecting()) return window.Defer(node, event);
  ObjectRecord* record = objects.Find(event.object);
  const Copy* copy = record != nullptr ? record->table.Find(node) : nullptr;
  const bool current = record != nullptr && record->version == event.version;
  if (!current || copy == nullptr || !copy->complete) {
    // A void copy may go; one that still grows, or that a newer version knows nothing of, may not.
    const bool is_void =
        record == nullptr || record->version > event.version || (current && copy == nullptr);
    return post.Send(node, EvictAnswer{event.object, event.version, is_void});
  }
  record->table.Edit(node, [](Copy& evicted) { evicted.evicting = true; });
  record->waits.Make().evictions.insert(node);
}

void DirectoryState::State::ResolveEvictions(const ObjectId& id, ObjectRecord& record) {
  const SmallSet<NodeId> asked = record.waiting().evictions;
  for (const NodeId node : asked) {
    const auto& sources = record.table.sources();
    // Complete copies sort first, and those that ask to go are not among them.
    const bool another = record.inline_bytes != nullptr ||
                         (!sources.empty() && !sources.begin()->partial) ||
                         options.fault == PlantedFault::kDropsTheLastCopy;
    if (another && !record.table.Find(node)->flow().serving.empty()) continue;
    record.waits->evictions.erase(node);
    if (another) {
      versions.DropCopy(id, record, node);
    } else {
      record.table.Edit(node, [](Copy& kept) {
        kept.evicting = false;
        kept.primary = true;
      });
    }
    post.Send(node, EvictAnswer{id, record.version, another});
  }
}

}  // namespace hoplite::planner
