#include "planner/books/tombstones.h"

#include <fmt/format.h>

namespace hoplite::planner {

void Tombstones::Insert(const ObjectId& id, const Entry& entry, Time until, Time now) {
  if (!ends_.Contains(id, now)) {  // an old tombstone may have ended and not be cleared away yet
    ends_.Erase(id);
    tombstones_.erase(id);
  }
  ends_.Insert(id, until);
  Entry& known = tombstones_.try_emplace(id, entry).first->second;
  if (known.version < entry.version) {
    known.version = entry.version;
    known.unowned = entry.unowned;
  }
  known.repeated = known.repeated && entry.repeated;
}

void Tombstones::EraseIfOlder(const ObjectId& id, Version version) {
  const auto tombstone = tombstones_.find(id);
  if (tombstone == tombstones_.end() || !tombstone->second.repeated ||
      version < tombstone->second.version)
    return;
  ends_.Erase(id);
  tombstones_.erase(tombstone);
}

void Tombstones::Expire(Time now, std::size_t most) {
  for (const ObjectId& id : ends_.Expire(now, most)) tombstones_.erase(id);
}

std::string Tombstones::WhyBlocked(const ObjectId& id, Time now) const {
  const std::optional<Time> until = Until(id, now);
  if (!until) return {};
  return fmt::format("object {} was deleted{}; its id is blocked for another {:.1f} s", id.ToHex(),
                     tombstones_.at(id).unowned ? ", since nobody owned it any more" : "",
                     ToSeconds(*until - now));
}

bool Tombstones::Consistent() const {
  return ends_.Consistent() && tombstones_.size() == ends_.entries().size();
}

void Tombstones::AddTo(Digest& digest) const {
  for (const auto& [id, until] : ends_.entries()) {
    const Entry& entry = tombstones_.at(id);
    digest.Add(id).Add(until).Add(entry.version).Add(entry.repeated);
  }
}

}  // namespace hoplite::planner
