// Sessions: who is a member, and what of it survives the end of a session.
#include <algorithm>
#include <set>

#include "planner/directory_internal.h"

namespace hoplite::planner {

void DirectoryState::State::OnJoined(const NodeJoined& event) {
  const NodeId namesake = nodes.Named(event.node.name);
  if (namesake != kNoNode && namesake != event.node.id) OnLost(namesake);
  if (nodes.alive(event.node.id)) OnSuspended(event.node.id);  // its old session was overtaken
  nodes.Join(event.node, now);
  stamps.NoteSeen(event.highest_incarnation);
}

void DirectoryState::State::OnSuspended(NodeId node) {
  if (!nodes.alive(node)) return;
  nodes.Suspend(node);
  ForgetRequests(node);
  for (const ObjectId& id : std::set<ObjectId>(nodes.Find(node)->objects)) {
    if (ObjectRecord* record = Find(id)) SuspendCopy(id, *record, node);
    dirty.insert(id);
  }
}

// Its next session repeats them, so none may be answered twice.
void DirectoryState::State::ForgetRequests(NodeId node) {
  std::erase_if(deferred, [&](const NodeSaid& said) { return said.node == node; });
  std::erase_if(outbox, [&](const Action& action) { return action.to == node; });
  for (const ObjectId& id : nodes.Find(node)->objects) {
    ObjectRecord* record = Find(id);
    if (record == nullptr) continue;
    auto& reduction = record->reduction;
    if (reduction && reduction->coordinator == node) reduction->vouched = false;
    record->locates.erase(node);
    record->subscribers.erase(node);
    record->evictions.erase(node);
    std::erase_if(record->creates, [&](const PendingCreate& c) { return c.node == node; });
    std::erase_if(record->opens, [&](const PendingOpen& open) { return open.node == node; });
  }
}

void DirectoryState::State::SuspendCopy(const ObjectId& id, ObjectRecord& record, NodeId node) {
  const Copy* known = record.table.Find(node);
  if (known == nullptr) return;
  record.table.Edit(node, [&](Copy& copy) {
    copy.live = options.twin == Twin::kHandsOutDeadNodes && copy.listed;
    copy.evicting = false;
    copy.wanted &= copy.fed;
    copy.orphan = copy.starved = false;
  });
  if (!known->listed) DropCopy(id, record, node);
}

void DirectoryState::State::On(NodeId node, const StoreUsage& event) {
  nodes.Find(node)->usage = event;
}

void DirectoryState::State::OnLost(NodeId node) {
  if (nodes.Find(node) == nullptr) return;
  OnSuspended(node);
  for (const ObjectId& id : std::set<ObjectId>(nodes.Find(node)->objects)) {
    ObjectRecord* record = Find(id);
    if (record == nullptr) continue;
    record->touched.erase(node);
    LoseFromReduction(id, *record, node);
    if (options.twin != Twin::kHandsOutDeadNodes) DropCopy(id, *record, node);
  }
  nodes.Erase(node);
}

}  // namespace hoplite::planner
