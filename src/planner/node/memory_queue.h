// MemoryQueue: who may look for memory next, so that a release wakes those whom it may help and not
// everybody who waits (a look of each of 2,000 cost more than the work itself).
//
// Decides: first come, first served. The first in the line looks at every release. Those behind it
// look when what is free may do for them but not for the first: they pass it, but only until as
// many bytes have passed as it wants itself; then the line is closed for a second, in which
// everything that is released gathers for the first, and open again, since that may want what never
// comes (somebody keeps views of it all). So the large are not starved by the small, nor the small
// held up by one that can't be helped. Is told: who comes, what it wants, how its look ended, what
// is free. Must never: leave a line in which nobody may look at the next release. No I/O; one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace hoplite::planner {

class MemoryQueue {
 public:
  using Place = std::uint64_t;

  // A newcomer looks at once unless somebody waits whom it must not pass.
  Place Enter(std::uint64_t bytes, std::uint64_t free_bytes);
  bool MayLook(Place place) const { return waiting_.at(place).may_look; }
  // It looked, and found no room. If what is free would do for the first, but not in one piece,
  // those behind it are to look now.
  std::vector<Place> Failed(Place place, std::uint64_t free_bytes);
  // It has its memory; then, or without it, it leaves: who is to look now?
  void Served(Place place);
  std::vector<Place> Leave(Place place, std::uint64_t free_bytes);
  // Memory was released, or may have been: who is to look now?
  std::vector<Place> Wake(std::uint64_t free_bytes);
  // A second has passed.
  std::vector<Place> Tick(std::uint64_t free_bytes);

  std::size_t size() const { return waiting_.size(); }
  // What the first wants; 0: nobody waits.
  std::uint64_t first_bytes() const {
    return waiting_.empty() ? 0 : waiting_.begin()->second.bytes;
  }

 private:
  struct Wanted {
    std::uint64_t bytes;
    bool may_look;
    std::uint64_t failed_with = 0;  // what was free when it last looked in vain
  };

  std::vector<Place> WakeBehindFirst(std::uint64_t free_bytes);
  bool closed() const { return passed_ > 0 && passed_ >= waiting_.begin()->second.bytes; }

  std::map<Place, Wanted> waiting_;              // in the order of their coming
  std::map<std::uint64_t, std::size_t> wanted_;  // how many want so much
  Place next_ = 0;
  std::uint64_t passed_ = 0;  // bytes given to those behind the first, since it is that
  bool was_closed_ = false;   // at the last tick
};

}  // namespace hoplite::planner
