#include "planner/shard/ownership.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::planner {
namespace {

// Somebody may own the id as soon as a request of his is decided.
bool AwaitsOwner(const ObjectRecord& record) {
  const Waiting& waiting = record.waiting();
  if (record.open_reduction() && record.reduction->owner.owned) return true;
  return std::ranges::any_of(waiting.creates, [](const auto& c) { return c.request.owned; }) ||
         std::ranges::any_of(waiting.opens, [](const auto& open) { return open.owner.owned; });
}

}  // namespace

void Ownership::On(NodeId node, const Owner& event) {
  // Left over from an older session.
  if (event.number <= owners_.FloorOf(node)) return;
  if (window_.collecting()) return window_.Defer(node, event);
  if (Answered(node, event.object, event.number, event.own)) return;
  if (event.own) return Own(node, event.object, event.number, event.grace);
  if (MayBe(event.object)) {
    objects_.Touch(event.object, node);
    owners_.Note(event.object, Time{});
    owners_.Drop(event.object, node);
  }
  Answer(node, event.object, event.number, OwnerResult::kOk);
}

// Somebody owns or owned the id, or has its object. Otherwise nothing came of the request for which a
// node owned it, a reduction that failed: its id is as free as before.
bool Ownership::MayBe(const ObjectId& id) const {
  if (owners_.Knows(id)) return true;
  const ObjectRecord* record = objects_.Find(id);
  return record != nullptr && (record->exists() || record->coming());
}

void Ownership::On(NodeId node, const Owned& event) {
  // Another's inventory may say that it was deleted.
  if (window_.collecting()) return window_.Defer(node, event);
  if (Answered(node, event.object, event.number, event.own)) return;
  if (event.own) return Own(node, event.object, event.number, event.grace);
  ObjectRecord& record = objects_.Touch(event.object, node);
  const Time now = owner_clock_.Counted(clock_.now());
  if (owners_.Note(event.object, now + options_.unknown_owners)) TellHolders(event.object, record);
  owners_.Drop(event.object, node);
  Answer(node, event.object, event.number, OwnerResult::kOk);
}

void Ownership::Own(NodeId node, const ObjectId& id, std::uint64_t number, Grace grace) {
  if (AtLimit(node, id)) {
    return Answer(node, id, number, OwnerResult::kLimit);
  }
  ObjectRecord& record = objects_.Touch(id, node);
  const bool news = !owners_.Knows(id);
  owners_.Own(id, {.node = node, .number = number, .since = Present(), .grace = grace});
  if (news) TellHolders(id, record);
  Answer(node, id, number, OwnerResult::kOk);
}

// It would own one more than it may.
bool Ownership::AtLimit(NodeId node, const ObjectId& id) const {
  const OwningNode* before = owners_.Find(id, node);
  const bool counted = before != nullptr && before->standing != Standing::kOrphan;
  return !counted && owners_.CountOf(node) >= options_.owned_limit;
}

// A tombstone says who comes too late.
bool Ownership::Answered(NodeId node, const ObjectId& id, std::uint64_t number, bool own) {
  if (!post_.AnswerDeleted(id, node)) return false;
  Answer(node, id, number, own ? OwnerResult::kDeleted : OwnerResult::kOk);
  return true;
}

void Ownership::Answer(NodeId node, const ObjectId& id, std::uint64_t number, OwnerResult result) {
  post_.Send(node, OwnerAnswer{id, number, result});
}

// Whoever has a copy, or was told where it is and gets memory for one.
void Ownership::TellHolders(const ObjectId& id, const ObjectRecord& record) {
  if (!record.exists() && record.table.copies().empty()) return;
  for (const NodeId node : record.touched) post_.Send(node, EverOwned{id});
}

Ownership::Refusal Ownership::WhyNot(NodeId node, const ObjectId& id, bool owned,
                                     bool only_if_owned) const {
  const bool unknown = owner_clock_.Counted(clock_.now()) < owner_clock_.unknown_until();
  if (only_if_owned && !owners_.Owned(id) && !unknown) {
    return {ErrorCode::kNotFound, fmt::format("nobody owns object {}", id.ToHex())};
  }
  if (owned && AtLimit(node, id)) {
    return {ErrorCode::kResourceExhausted,
            fmt::format("{} owns {} objects of this directory shard, which is the limit",
                        nodes_.NameOf(node), options_.owned_limit)};
  }
  return {};
}

// The grace of a node's other clients stays: a claim has that of one client.
void Ownership::Accepted(NodeId node, const ObjectId& id, const OwnerClaim& claim,
                         std::uint64_t attempt, bool vouched) {
  const bool news = !owners_.Knows(id);
  const OwningNode* before = owners_.Find(id, node);
  const bool by_itself = before != nullptr && before->attempt != attempt;
  owners_.Own(
      id, {.node = node,
           .number = claim.number,
           .attempt = by_itself ? 0 : attempt,
           .standing = vouched ? Standing::kOwns : Standing::kAway,
           .since = Present(),
           .grace = before != nullptr ? graces().Longer(before->grace, claim.grace) : claim.grace});
  const ObjectRecord& record = objects_.Touch(id, node);
  if (news) TellHolders(id, record);
}

void Ownership::AcceptedForOwners(const ObjectId& id) { owners_.Note(id, Time{}); }

void Ownership::Withdrawn(NodeId node, const ObjectId& id, std::uint64_t attempt) {
  const OwningNode* owner = owners_.Find(id, node);
  if (owner == nullptr || owner->attempt == 0 || owner->attempt != attempt) return;
  owners_.Drop(id, node);
  const ObjectRecord* record = objects_.Find(id);
  // Nothing came of it, so its id is as free as before.
  if (!owners_.Owned(id) && record->table.copies().empty() && !record->exists()) owners_.Erase(id);
}

void Ownership::Copied(NodeId node, const ObjectId& id, bool ever_owned) {
  if (!ever_owned) {
    if (owners_.Knows(id)) post_.Send(node, EverOwned{id});
    return;
  }
  const Time now = owner_clock_.Counted(clock_.now());
  if (!owners_.Note(id, now + options_.unknown_owners)) return;
  for (const NodeId other : objects_.Find(id)->touched) {
    if (other != node) post_.Send(other, EverOwned{id});
  }
}

void Ownership::Wanted(NodeId node, const ObjectId& id) {
  if (!owners_.Knows(id)) return;
  const NodeRecord* member = nodes_.Find(node);
  if (member != nullptr && member->inventory_open) post_.Send(node, EverOwned{id});
}

void Ownership::Lose(NodeId node, const ObjectId& id) {
  const OwningNode* owner = owners_.Find(id, node);
  if (owner == nullptr) return;
  const Time now = owner_clock_.Counted(clock_.now());
  owners_.SetOrphan(id, node, now + graces().Length(owner->grace));
}

void Ownership::EndInventory(NodeId node, const ObjectId& id) {
  const OwningNode* owner = owners_.Find(id, node);
  if (owner == nullptr || owner->standing == Standing::kOwns) return;
  owners_.Drop(id, node);
  agenda_.Add(id);
}

bool Ownership::Ends(const ObjectId& id, const ObjectRecord& record) {
  if (!owners_.Knows(id) || owners_.Owned(id)) return false;
  const Time now = owner_clock_.Counted(clock_.now());
  const Time when = std::max(owners_.NotBefore(id), owner_clock_.unknown_until());
  if (now < when || !KnowsMembers()) {
    owners_.LookAgain(id, std::max(now, when));
    return false;
  }
  return !AwaitsOwner(record);
}

bool Ownership::Disappoints(const ObjectId& id, const ObjectRecord& record) {
  if (record.waiting().expectations.empty() || owners_.Knows(id) || record.coming()) return false;
  const Time now = owner_clock_.Counted(clock_.now());
  if (owner_clock_.unknown_until() <= now && KnowsMembers()) return true;
  owners_.LookAgain(id, std::max(now, owner_clock_.unknown_until()));
  return false;
}

void Ownership::Tick(Time now, std::size_t most) {
  owner_clock_.Tick(now);
  const Time counted = owner_clock_.Counted(now);
  for (const ObjectId& id : owners_.Expire(counted, most)) agenda_.Add(id);
  if (!KnowsMembers()) return;
  for (const ObjectId& id : owners_.TakeLonely(counted, most)) agenda_.Add(id);
}

Time Ownership::Next() {
  if (owners_.idle()) return kNever;
  const Time now = clock_.now();
  Time due = owners_.next_lapse();
  if (KnowsMembers()) due = std::min(due, owners_.next_look());
  const bool waits = due != kNever || owners_.next_look() != kNever;
  const bool unknown = owner_clock_.Counted(now) < owner_clock_.unknown_until();
  return waits || unknown ? owner_clock_.Ask(now, due) : kNever;
}

}  // namespace hoplite::planner
