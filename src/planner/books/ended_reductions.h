// EndedReductions: which reductions ended with an error, and with which, for a while (R69).
//
// Decides: whether what is asked of a target is answered with that error. Is told: ends, and that
// another version of the object began. Must never: let an old end hide a new object. A value type;
// O(log n) per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "planner/words/expiring.h"

namespace hoplite::planner {

struct ReductionEnd {
  NodeId coordinator = kNoNode;
  std::uint64_t request = 0;  // the coordinator's
  Version version;            // of the target, the last; none: it had none yet
  Error error{ErrorCode::kInternal, ""};
  bool replaced = false;  // another attempt at the object began
};

class EndedReductions {
 public:
  // Of one target the newest counts.
  void Insert(const ObjectId& target, ReductionEnd end, Time until);
  // Another version of the object begins: whoever asks for it is told of that.
  void Replace(const ObjectId& target);
  // Clears away what is over: at most so many.
  void Expire(Time now, std::size_t most);

  // Null: it did not end with an error, or too long ago.
  const ReductionEnd* Find(const ObjectId& target, Time now) const;
  // Why whoever asks for this version, or for any if it is none, waits in vain. Null: not so.
  const ReductionEnd* Of(const ObjectId& target, Version version, Time now) const;
  // The same end was told to this reduction's readers.
  const ReductionEnd* Of(const ObjectId& target, NodeId coordinator, std::uint64_t request,
                         Time now) const;
  Time next() const { return times_.next(); }
  bool Consistent() const { return times_.Consistent() && times_.entries().size() == ends_.size(); }
  void AddTo(Digest& digest) const;

 private:
  Expiring<ObjectId> times_;
  std::map<ObjectId, ReductionEnd> ends_;  // of the same objects
};

}  // namespace hoplite::planner
