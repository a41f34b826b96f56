#include "planner/books/object_book.h"

#include <utility>

namespace hoplite::planner {

ObjectRecord* ObjectBook::Find(const ObjectId& id) {
  const auto entry = records_.find(id);
  return entry == records_.end() ? nullptr : &entry->second;
}

const ObjectRecord* ObjectBook::Find(const ObjectId& id) const {
  const auto entry = records_.find(id);
  return entry == records_.end() ? nullptr : &entry->second;
}

ObjectRecord& ObjectBook::Touch(const ObjectId& id, NodeId node) {
  ObjectRecord& record = records_[id];
  record.touched.insert(node);
  spoken_of_[node].insert(id);
  return record;
}

void ObjectBook::Erase(const ObjectId& id) {
  const auto record = records_.find(id);
  for (const NodeId node : record->second.touched) {
    const auto spoken = spoken_of_.find(node);
    if (spoken != spoken_of_.end()) spoken->second.erase(id);
  }
  records_.erase(record);
}

ObjectBook::Objects ObjectBook::TakeSpokenOf(NodeId node) {
  auto spoken = spoken_of_.extract(node);
  return spoken.empty() ? Objects() : std::move(spoken.mapped());
}

bool ObjectBook::SpokeOf(NodeId node, const ObjectId& id) const {
  const auto spoken = spoken_of_.find(node);
  return spoken != spoken_of_.end() && spoken->second.contains(id);
}

}  // namespace hoplite::planner
