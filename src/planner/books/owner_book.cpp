#include "planner/books/owner_book.h"

#include <algorithm>

namespace hoplite::planner {

OwningNode* OwnerBook::In(Id& id, NodeId node) {
  const auto owner = std::ranges::find(id.owners, node, &OwningNode::node);
  return owner == id.owners.end() ? nullptr : &*owner;
}

bool OwnerBook::Owned(const ObjectId& id) const {
  const auto known = ids_.find(id);
  return known != ids_.end() && !known->second.owners.empty();
}

const OwningNode* OwnerBook::Find(const ObjectId& id, NodeId node) const {
  const auto known = ids_.find(id);
  if (known == ids_.end()) return nullptr;
  const auto owner = std::ranges::find(known->second.owners, node, &OwningNode::node);
  return owner == known->second.owners.end() ? nullptr : &*owner;
}

bool OwnerBook::OwnedAfter(const ObjectId& id, Version tombstone) const {
  const auto known = ids_.find(id);
  return known != ids_.end() && std::ranges::any_of(known->second.owners, [&](const auto& owner) {
           return !(owner.since < tombstone);
         });
}

std::vector<NodeId> OwnerBook::OwnersOf(const ObjectId& id) const {
  std::vector<NodeId> nodes;
  const auto known = ids_.find(id);
  if (known == ids_.end()) return nodes;
  for (const OwningNode& owner : known->second.owners) nodes.push_back(owner.node);
  return nodes;
}

Grace OwnerBook::GraceOf(const ObjectId& id, const GraceTerms& terms) const {
  const auto known = ids_.find(id);
  if (known == ids_.end() || known->second.owners.empty()) return std::nullopt;
  Grace longest = Duration{0};
  for (const OwningNode& owner : known->second.owners) {
    longest = terms.Longer(longest, owner.grace);
  }
  return longest;
}

std::size_t OwnerBook::CountOf(NodeId node) const {
  const auto count = counts_.find(node);
  return count == counts_.end() ? 0 : count->second;
}

bool OwnerBook::Note(const ObjectId& id, Time not_before) {
  const auto [known, news] = ids_.try_emplace(id);
  if (news) known->second.not_before = not_before;
  return news;
}

void OwnerBook::Own(const ObjectId& id, const OwningNode& owner) {
  Id& known = ids_[id];
  lonely_.Erase(id);
  lapses_.Erase({id, owner.node});
  OwningNode* before = In(known, owner.node);
  if (before == nullptr || before->standing == Standing::kOrphan) Count(owner.node, 1);
  if (before == nullptr) {
    known.owners.push_back(owner);
    return;
  }
  before->standing = owner.standing;
  // Said before what is known: an answer to it would pass for one to the newer change (R50).
  if (owner.number < before->number) return;
  before->number = owner.number;
  before->attempt = owner.attempt;
  before->since = std::max(before->since, owner.since);
  before->grace = owner.grace;
}

void OwnerBook::Drop(const ObjectId& id, NodeId node) {
  const auto known = ids_.find(id);
  if (known == ids_.end()) return;
  const OwningNode* owner = In(known->second, node);
  if (owner == nullptr) return;
  if (owner->standing != Standing::kOrphan) Count(node, -1);
  lapses_.Erase({id, node});
  std::erase_if(known->second.owners, [&](const OwningNode& one) { return one.node == node; });
}

void OwnerBook::SetAway(const ObjectId& id, NodeId node) {
  const auto known = ids_.find(id);
  if (known == ids_.end()) return;
  OwningNode* owner = In(known->second, node);
  if (owner != nullptr && owner->standing == Standing::kOwns) owner->standing = Standing::kAway;
}

void OwnerBook::SetOrphan(const ObjectId& id, NodeId node, Time until) {
  const auto known = ids_.find(id);
  if (known == ids_.end()) return;
  OwningNode* owner = In(known->second, node);
  if (owner == nullptr || owner->standing == Standing::kOrphan) return;
  owner->standing = Standing::kOrphan;
  Count(node, -1);
  lapses_.Insert({id, node}, until);
}

void OwnerBook::Erase(const ObjectId& id) {
  const auto known = ids_.find(id);
  if (known == ids_.end()) return;
  for (const OwningNode& owner : known->second.owners) {
    if (owner.standing != Standing::kOrphan) Count(owner.node, -1);
    lapses_.Erase({id, owner.node});
  }
  lonely_.Erase(id);
  ids_.erase(known);
}

std::uint64_t OwnerBook::FloorOf(NodeId node) const {
  const auto floor = floors_.find(node);
  return floor == floors_.end() ? 0 : floor->second;
}

std::vector<ObjectId> OwnerBook::Expire(Time now, std::size_t most) {
  std::vector<ObjectId> ended;
  for (const auto& [id, node] : lapses_.Expire(now, most)) {
    std::erase_if(ids_.at(id).owners, [&](const OwningNode& one) { return one.node == node; });
    ended.push_back(id);
  }
  return ended;
}

void OwnerBook::Count(NodeId node, int more) {
  std::size_t& count = counts_[node];
  count += static_cast<std::size_t>(more);
  if (count == 0) counts_.erase(node);
}

bool OwnerBook::Consistent() const {
  std::map<NodeId, std::size_t> counts;
  std::size_t orphans = 0;
  for (const auto& [id, known] : ids_) {
    for (const OwningNode& owner : known.owners) {
      const bool orphan = owner.standing == Standing::kOrphan;
      if (orphan != lapses_.entries().contains({id, owner.node})) return false;
      if (orphan) ++orphans;
      if (!orphan) ++counts[owner.node];
    }
    if (!known.owners.empty() && lonely_.entries().contains(id)) return false;
  }
  return counts == counts_ && orphans == lapses_.entries().size() && lapses_.Consistent() &&
         lonely_.Consistent();
}

void OwnerBook::AddTo(Digest& digest) const {
  for (const auto& [id, known] : ids_) {
    digest.Add(id).Add(known.not_before);
    for (const OwningNode& owner : known.owners) {
      digest.Add(Raw(owner.node)).Add(owner.number).Add(owner.attempt).Add(owner.standing);
      digest.Add(owner.since).Add(owner.grace.value_or(Duration(-1)));
    }
  }
  for (const auto& [node, floor] : floors_) {
    if (floor != 0) digest.Add(Raw(node)).Add(floor);
  }
  for (const auto& [orphan, until] : lapses_.entries()) digest.Add(orphan.first).Add(until);
  for (const auto& [id, when] : lonely_.entries()) digest.Add(id).Add(when);
}

}  // namespace hoplite::planner
