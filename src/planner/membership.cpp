// Sessions: who is a member, and what of it survives the end of a session.
#include <algorithm>
#include <utility>

#include "planner/directory_internal.h"

namespace hoplite::planner {

void DirectoryState::State::OnJoined(const NodeJoined& event) {
  const NodeId namesake = nodes.Named(event.node.name);
  if (namesake != kNoNode && namesake != event.node.id) OnLost(namesake);
  if (nodes.alive(event.node.id)) OnSuspended(event.node.id);  // its old session was overtaken
  nodes.Join(event.node, clock.now());
  stamps.NoteSeen(event.highest_incarnation);
}

void DirectoryState::State::OnSuspended(NodeId node) {
  if (!nodes.alive(node)) return;
  nodes.Suspend(node);
  // Its next session repeats its requests, so none may be answered twice.
  outbox.DropFor(node);
  window.EndSession(node);
  sweeps.Add(node, Change::kSuspended, objects.TakeSpokenOf(node));
}

void DirectoryState::State::Pay(const Visit& visit, const ObjectId& id) {
  if (visit.last) objects.Return(id, visit.node);
  ObjectRecord* record = objects.Find(id);
  if (record == nullptr) return;
  if (visit.change == Change::kInventoryOver) return EndInventoryIn(id, *record, visit.node);
  // One that left and is back by now is told in its inventory's answer what still holds.
  outbox.Silence(visit.node);
  SuspendIn(id, *record, visit.node);
  if (visit.change == Change::kLost) LoseFrom(id, *record, visit.node);
  outbox.Silence(kNoNode);
  agenda.Add(id);
}

void DirectoryState::State::ForgetRequests(ObjectRecord& record, NodeId node) {
  auto& reduction = record.reduction;
  if (reduction && reduction->coordinator == node) reduction->vouched = false;
  if (!record.waits) return;
  Waiting& waiting = *record.waits;
  waiting.locates.erase(node);
  waiting.subscribers.erase(node);
  waiting.evictions.erase(node);
  std::erase_if(waiting.creates, [&](const PendingCreate& c) { return c.node == node; });
  std::erase_if(waiting.opens, [&](const PendingOpen& open) { return open.node == node; });
}

void DirectoryState::State::SuspendIn(const ObjectId& id, ObjectRecord& record, NodeId node) {
  ForgetRequests(record, node);
  const Copy* known = record.table.Find(node);
  if (known == nullptr) return;
  record.table.Edit(node, [&](Copy& copy) {
    copy.live = options.fault == PlantedFault::kHandsOutDeadNodes && copy.listed;
    copy.evicting = false;
    copy.wanted &= copy.fed();
    copy.orphan = copy.starved = false;
  });
  if (!known->listed) versions.DropCopy(id, record, node);
}

void DirectoryState::State::LoseFrom(const ObjectId& id, ObjectRecord& record, NodeId node) {
  record.touched.erase(node);
  requests.Lose(id, record, node);
  if (options.fault != PlantedFault::kHandsOutDeadNodes) versions.DropCopy(id, record, node);
}

void DirectoryState::State::On(NodeId node, const StoreUsage& event) {
  nodes.Find(node)->usage = event;
}

void DirectoryState::State::OnLost(NodeId node) {
  if (nodes.Find(node) == nullptr) return;
  OnSuspended(node);
  sweeps.Add(node, Change::kLost, objects.TakeSpokenOf(node));
  nodes.Erase(node);
}

}  // namespace hoplite::planner
