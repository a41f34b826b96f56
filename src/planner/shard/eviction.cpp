#include "planner/shard/eviction.h"

namespace hoplite::planner {

void Eviction::On(NodeId node, const EvictAsk& event) {
  if (window_.collecting()) return window_.Defer(node, event);
  ObjectRecord* record = objects_.Find(event.object);
  const Copy* copy = record != nullptr ? record->table.Find(node) : nullptr;
  const bool current = record != nullptr && record->version == event.version;
  if (!current || copy == nullptr || !copy->complete) {
    // A void copy may go; one that still grows, or that a newer version knows nothing of, may not.
    const bool is_void =
        record == nullptr || record->version > event.version || (current && copy == nullptr);
    return post_.Send(node, EvictAnswer{event.object, event.version, is_void});
  }
  record->table.Edit(node, [](Copy& evicted) { evicted.evicting = true; });
  record->waits.Make().evictions.insert(node);
  const bool last = !HasAnother(*record);
  if (last && event.taker != node && nodes_.alive(event.taker)) {
    post_.Send(event.taker, TakeCopy{event.object, event.version});
  }
}

// Those that ask to go are no sources: otherwise two nodes that ask together would each rely on the
// other's copy.
bool Eviction::HasAnother(const ObjectRecord& record) {
  return record.inline_bytes != nullptr || record.table.sources_whole();
}

void Eviction::ResolveEvictions(const ObjectId& id, ObjectRecord& record) {
  const SmallSet<NodeId> asked = record.waiting().evictions;
  for (const NodeId node : asked) {
    // A receiver that is fed from here is waited for: it would lose its source.
    const bool another = HasAnother(record);
    if (another && !record.table.Find(node)->flow().serving.empty()) continue;
    record.waits->evictions.erase(node);
    if (another) {
      versions_.DropCopy(id, record, node);
    } else {
      record.table.Edit(node, [](Copy& kept) {
        kept.evicting = false;
        kept.primary = true;
      });
    }
    post_.Send(node, EvictAnswer{id, record.version, another});
  }
}

}  // namespace hoplite::planner
