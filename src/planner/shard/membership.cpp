#include "planner/shard/membership.h"

namespace hoplite::planner {

void Membership::OnJoined(const NodeJoined& event) {
  // A process that was started again under its name: Puts that wait for its old self would wait
  // until the grace is over, in vain (R14).
  const NodeId namesake = nodes_.Named(event.node.name);
  if (namesake != kNoNode && namesake != event.node.id) OnLost(namesake);
  if (nodes_.alive(event.node.id)) OnSuspended(event.node.id);  // its old session was overtaken
  if (!nodes_.AnyAlive()) owner_clock_.FirstSession(clock_.now(), options_.unknown_owners);
  nodes_.Join(event.node, clock_.now());
  pairs_.ForgetAll(event.node.id);
  owners_.Joined(event.node.id, event.owner_number);
  registers_.Joined(event.node.id, event.register_number);
  stamps_.NoteSeen(event.highest_incarnation);
}

void Membership::OnSuspended(NodeId node) {
  if (!nodes_.alive(node)) return;
  nodes_.Suspend(node);
  // Its next session repeats its requests, so none may be answered twice.
  outbox_.DropFor(node);
  window_.EndSession(node);
  registers_.Suspend(node);
  sweeps_.Add(node, Change::kSuspended, objects_.TakeSpokenOf(node));
}

void Membership::OnLost(NodeId node) {
  if (nodes_.Find(node) == nullptr) return;
  OnSuspended(node);
  sweeps_.Add(node, Change::kLost, objects_.TakeSpokenOf(node));
  nodes_.Erase(node);
  owners_.Left(node);
  registers_.Lose(node);
}

void Membership::On(NodeId node, const StoreUsage& event) { nodes_.NoteUsage(node, event); }
void Membership::On(NodeId node, const ToldWaits& event) { nodes_.NoteWaits(node, event.waits); }

}  // namespace hoplite::planner
