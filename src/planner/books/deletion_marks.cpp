#include "planner/books/deletion_marks.h"

#include <fmt/format.h>

namespace hoplite::planner {

void DeletionMarks::Insert(const ObjectId& id, const DeletionMark& mark, Time until, Time now) {
  if (!ends_.Contains(id, now)) {  // an old mark may have ended and not be cleared away yet
    ends_.Erase(id);
    marks_.erase(id);
  }
  ends_.Insert(id, until);
  DeletionMark& known = marks_.try_emplace(id, mark).first->second;
  if (known.version < mark.version) {
    known.version = mark.version;
    known.unowned = mark.unowned;
  }
  known.repeated = known.repeated && mark.repeated;
}

void DeletionMarks::EraseIfOlder(const ObjectId& id, Version version) {
  const auto mark = marks_.find(id);
  if (mark == marks_.end() || !mark->second.repeated || version < mark->second.version) return;
  ends_.Erase(id);
  marks_.erase(mark);
}

void DeletionMarks::Expire(Time now, std::size_t most) {
  for (const ObjectId& id : ends_.Expire(now, most)) marks_.erase(id);
}

std::string DeletionMarks::WhyBlocked(const ObjectId& id, Time now) const {
  const std::optional<Time> until = Until(id, now);
  if (!until) return {};
  return fmt::format("object {} was deleted{}; its id is blocked for another {:.1f} s", id.ToHex(),
                     marks_.at(id).unowned ? ", since nobody owned it any more" : "",
                     ToSeconds(*until - now));
}

bool DeletionMarks::Consistent() const {
  return ends_.Consistent() && marks_.size() == ends_.entries().size();
}

void DeletionMarks::AddTo(Digest& digest) const {
  for (const auto& [id, until] : ends_.entries()) {
    const DeletionMark& mark = marks_.at(id);
    digest.Add(id).Add(until).Add(mark.version).Add(mark.repeated);
  }
}

}  // namespace hoplite::planner
