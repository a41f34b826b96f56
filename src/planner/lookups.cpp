#include "planner/lookups.h"

#include <string>
#include <utility>

namespace hoplite::planner {

void Lookups::On(NodeId node, const Locate& event) {
  if (post_.AnswerDeleted(event.object, node)) return;
  ObjectRecord& record = objects_.Touch(event.object, node);
  // In an inventory copies come before requests: one that was not repeated by now is gone (R15).
  const Copy* own = record.table.Find(node);
  if (own != nullptr && !own->live) versions_.DropCopy(event.object, record, node);
  if (!record.coming() && post_.AnswerFailed(event.object, node, {}, event.number)) return;
  Waiting& waiting = record.waits.Make();
  waiting.locates.erase({node});
  waiting.locates.insert({node, event.room, event.number, event.joint});
  if (event.expects != 0) waiting.Expect(node, event.expects);
  if (!record.exists() && !waiting.lost_holder.empty()) {
    post_.Send(node, HolderLost{event.object, waiting.lost_holder});
  }
}

void Lookups::On(NodeId node, const CancelLocate& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr) return;
  record->waits.Make().ForgetQuestion(node);
}

// The first reader of an object has nothing to gain from a holder: its bytes leave that way, too.
bool Lookups::ComesInline(ObjectRecord& record, NodeId node, bool has_room) {
  if (record.inline_bytes == nullptr) return false;
  const std::uint64_t bytes = record.inline_bytes->size();
  const LinkModel& link = nodes_.link();
  const bool others_may = has_room && record.inline_read && record.table.sources_whole() &&
                          record.table.Find(node) == nullptr &&
                          !transfers_.KeptFromHolder(record, node);
  if (others_may && !inline_pace_.Allows(bytes, clock_.now(), link)) return false;
  record.inline_read = true;
  inline_pace_.Left(bytes, clock_.now(), link);
  return true;
}

void Lookups::ResolveLocates(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits || !record.exists()) return;
  const std::string& metadata = record.metadata.OrEmpty();
  const Layout& layout = record.table.layout();
  for (const Asking& one : std::exchange(record.waits->locates, {})) {
    const bool has_room = one.room != 0 && layout.size_bytes <= one.room;
    if (ComesInline(record, one.node, has_room)) {
      post_.Send(one.node, InlineObject{id, record.version, metadata, record.inline_bytes});
      continue;
    }
    const bool wanted = has_room && transfers_.Wants(record, one.node, one.joint);
    post_.Send(one.node, Located{id, record.version, layout, metadata, owners_.Knows(id),
                                 wanted ? one.number : 0});
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
  if (!record.coming()) post_.AnswerFailed(event.object, node);
  if (!record.exists() && !waiting.lost_holder.empty()) {
    post_.Send(node, HolderLost{event.object, waiting.lost_holder});
  }
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
  if (!waiting.locates.contains({node})) waiting.DropExpectation(node);
}

void Lookups::AnswerUnowned(const ObjectId& id, ObjectRecord& record) {
  for (const Expectation& one : std::exchange(record.waits->expectations, {})) {
    post_.Send(one.node, Unowned{id, one.number});
  }
}

}  // namespace hoplite::planner
