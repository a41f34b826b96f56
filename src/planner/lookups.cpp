#include "planner/lookups.h"

#include <string>
#include <utility>

namespace hoplite::planner {

void Lookups::On(NodeId node, const Locate& event) {
  if (post_.AnswerDeleted(event.object, node)) return;
  ObjectRecord& record = objects_.Touch(event.object, node);
  Waiting& waiting = record.waits.Make();
  waiting.locates.insert(node);
  if (event.expects != 0) waiting.Expect(node, event.expects);
  if (!record.exists() && !waiting.lost_holder.empty()) {
    post_.Send(node, HolderLost{event.object, waiting.lost_holder});
  }
}

void Lookups::On(NodeId node, const CancelLocate& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr) return;
  Waiting& waiting = record->waits.Make();
  waiting.locates.erase(node);
  if (!waiting.subscribers.contains(node)) waiting.DropExpectation(node);
}

void Lookups::ResolveLocates(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits || !record.exists()) return;
  for (const NodeId node : std::exchange(record.waits->locates, {})) {
    const std::string& metadata = record.metadata.OrEmpty();
    if (record.inline_bytes != nullptr) {
      post_.Send(node, InlineObject{id, record.version, metadata, record.inline_bytes});
      continue;
    }
    post_.Send(node,
               Located{id, record.version, record.table.layout(), metadata, owners_.Knows(id)});
  }
  std::erase_if(record.waits->expectations, [&](const Expectation& one) {
    return !record.waits->subscribers.contains(one.node);
  });
}

void Lookups::On(NodeId node, const Subscribe& event) {
  post_.AnswerDeleted(event.object, node);
  ObjectRecord& record = objects_.Touch(event.object, node);
  Waiting& waiting = record.waits.Make();
  waiting.subscribers.insert(node);
  if (event.expects != 0) waiting.Expect(node, event.expects);
  const auto tell = [&](NodeId holder, LocationKind kind) {
    post_.NotifyOne(node, event.object, record, holder, kind);
  };
  if (record.inline_bytes != nullptr) tell(kNoNode, LocationKind::kInline);
  for (const auto& [holder, copy] : record.table.copies()) {
    if (copy.listed) tell(holder, copy.complete ? LocationKind::kComplete : LocationKind::kPartial);
  }
}

void Lookups::On(NodeId node, const Unsubscribe& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr) return;
  Waiting& waiting = record->waits.Make();
  waiting.subscribers.erase(node);
  if (!waiting.locates.contains(node)) waiting.DropExpectation(node);
}

void Lookups::AnswerUnowned(const ObjectId& id, ObjectRecord& record) {
  for (const Expectation& one : std::exchange(record.waits->expectations, {})) {
    post_.Send(one.node, Unowned{id, one.number});
  }
}

}  // namespace hoplite::planner
