#include "planner/books/register_book.h"

#include <algorithm>
#include <vector>

#include "base/digest_fields.h"

namespace hoplite::planner {

Version ClaimOf(const RegisterUser& user) {
  const bool claims = user.done && user.done->claims();
  return claims ? std::max(user.claim, user.done->claim) : user.claim;
}

bool HasWriter(const RegisterRecord& record) {
  const RegisterContents& entry = record.entry;
  if (!entry.claim) return false;
  return std::ranges::any_of(record.users, [&](const auto& used) {
    const auto& [node, user] = used;
    const bool claims = user.call && user.call->write && user.call->write->claims;
    return ClaimOf(user) == entry.claim ||
           (claims && entry.attempt == RegisterAttempt{node, user.call->number});
  });
}

RegisterRecord* RegisterBook::Find(const ObjectId& id) {
  const auto record = records_.find(id);
  return record == records_.end() ? nullptr : &record->second;
}
const RegisterRecord* RegisterBook::Find(const ObjectId& id) const {
  const auto record = records_.find(id);
  return record == records_.end() ? nullptr : &record->second;
}

std::size_t RegisterBook::CountOf(NodeId node) const {
  const auto open = open_.find(node);
  return open == open_.end() ? 0 : open->second.size();
}

RegisterUser& RegisterBook::Use(const ObjectId& id, NodeId node) {
  open_[node].insert(id);
  return records_[id].users[node];
}

void RegisterBook::Drop(const ObjectId& id, NodeId node) {
  const auto open = open_.find(node);
  if (open == open_.end() || open->second.erase(id) == 0) return;
  if (open->second.empty()) open_.erase(open);
  const auto record = records_.find(id);
  record->second.users.erase(node);
  if (record->second.users.empty()) {
    records_.erase(record);
  } else {
    Touch(id);
  }
}

std::uint64_t RegisterBook::FloorOf(NodeId node) const {
  const auto floor = floors_.find(node);
  return floor == floors_.end() ? 0 : floor->second;
}

void RegisterBook::Suspend(NodeId node) {
  const auto open = open_.find(node);
  if (open == open_.end()) return;
  for (const ObjectId& id : open->second) {
    RegisterUser& user = records_.at(id).users.at(node);
    user.away = true;
    user.call.reset();
    user.told.reset();
    Touch(id);
  }
}

void RegisterBook::EndInventory(NodeId node) {
  const auto open = open_.find(node);
  if (open == open_.end()) return;
  std::vector<ObjectId> gone;
  for (const ObjectId& id : open->second) {
    if (records_.at(id).users.at(node).away) gone.push_back(id);
  }
  for (const ObjectId& id : gone) Drop(id, node);
}

void RegisterBook::Lose(NodeId node) {
  floors_.erase(node);
  while (CountOf(node) > 0) Drop(ObjectId(*open_.at(node).begin()), node);
}

bool RegisterBook::Consistent() const {
  std::size_t users = 0;
  for (const auto& [id, record] : records_) {
    if (record.users.empty()) return false;
    users += record.users.size();
    for (const auto& [node, user] : record.users) {
      const auto open = open_.find(node);
      if (open == open_.end() || !open->second.contains(id)) return false;
    }
  }
  std::size_t indexed = 0;
  for (const auto& [node, ids] : open_) indexed += ids.size();
  return users == indexed;
}

void RegisterBook::AddTo(Digest& digest) const {
  for (const auto& [id, record] : records_) {
    digest.Add(id);
    AddFields(digest, record.entry);
    for (const auto& [node, user] : record.users) {
      digest.Add(node).Add(user.away).Add(user.claim);
      AddFields(digest, user.call);
      AddFields(digest, user.done);
      AddFields(digest, user.told);
    }
    digest.Add(record.users.size());
  }
  digest.Add(records_.size());
  for (const auto& [node, floor] : floors_) {
    if (floor != 0) digest.Add(node).Add(floor);
  }
  for (const ObjectId& id : touched_) digest.Add(id);
}

}  // namespace hoplite::planner
