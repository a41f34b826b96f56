#include "planner/books/ended_reductions.h"

#include <utility>

namespace hoplite::planner {

void EndedReductions::Insert(const ObjectId& target, ReductionEnd end, Time until) {
  times_.Erase(target);
  times_.Insert(target, until);
  ends_.insert_or_assign(target, std::move(end));
}

void EndedReductions::Replace(const ObjectId& target) {
  const auto end = ends_.find(target);
  if (end != ends_.end()) end->second.replaced = true;
}

void EndedReductions::Expire(Time now, std::size_t most) {
  for (const ObjectId& target : times_.Expire(now, most)) ends_.erase(target);
}

const ReductionEnd* EndedReductions::Find(const ObjectId& target, Time now) const {
  return times_.Contains(target, now) ? &ends_.at(target) : nullptr;
}

const ReductionEnd* EndedReductions::Of(const ObjectId& target, Version version, Time now) const {
  const ReductionEnd* end = Find(target, now);
  return end != nullptr && !end->replaced && version <= end->version ? end : nullptr;
}

const ReductionEnd* EndedReductions::Of(const ObjectId& target, NodeId coordinator,
                                        std::uint64_t request, Time now) const {
  const ReductionEnd* end = Find(target, now);
  const bool theirs = end != nullptr && end->coordinator == coordinator && end->request == request;
  return theirs ? end : nullptr;
}

void EndedReductions::AddTo(Digest& digest) const {
  for (const auto& [target, until] : times_.entries()) {
    const ReductionEnd& end = ends_.at(target);
    digest.Add(target).Add(until).Add(Raw(end.coordinator)).Add(end.request).Add(end.version);
    digest.Add(end.error.code).Add(end.error.message).Add(end.replaced);
  }
}

}  // namespace hoplite::planner
