// KeptVersions: the versions that a publisher keeps: so many in all, of which the oldest stays while
// somebody fetches it. So a reader that is slower than versions come gets one all the same.
//
// Decides: which objects go, and when. Is told: versions, and which objects are being fetched. Must
// never: let an object go that a version here lists. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

namespace hoplite::client {

class KeptVersions {
 public:
  using Objects = std::vector<ObjectId>;

  explicit KeptVersions(std::uint32_t keep) : keep_(keep) {}

  bool empty() const { return versions_.empty(); }
  const Objects& newest() const { return versions_.back(); }
  void Add(Objects version) { versions_.push_back(std::move(version)); }
  void RemoveNewest() { versions_.pop_back(); }

  // What goes with the next version, unless somebody fetches it. Empty: that makes no difference.
  Objects Leaving() const;
  // Down to so many. What goes: all that no version lists any more.
  Objects Shrink(const std::function<bool(const ObjectId&)>& fetched);
  // All that there is, which goes.
  Objects TakeAll();

 private:
  // What no version lists but that one.
  Objects OnlyIn(std::size_t place) const;
  // One stays the newest, so that one more may be fetched.
  bool may_hold() const { return keep_ > 1; }

  const std::uint32_t keep_;
  std::deque<Objects> versions_;  // the oldest first
};

}  // namespace hoplite::client
