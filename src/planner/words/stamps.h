// Where versions and grant ids come from: (incarnation of the shard, sequence), so that whatever a
// restarted shard gives out is newer than anything of its predecessor (R1). And the numbers that
// put receivers in the order of their requests.
#pragma once

#include <cstdint>
#include <limits>

#include "base/ids.h"

namespace hoplite::planner {

class Stamps {
 public:
  explicit Stamps(std::uint64_t incarnation) : incarnation_(incarnation) {}

  Version NextVersion() {
    gave_versions_ = true;
    return {{incarnation_, ++sequence_}};
  }
  GrantId NextGrant() { return {{incarnation_, ++sequence_}}; }
  std::uint64_t NextRequest() { return ++requests_; }

  // A node has seen a version of this incarnation. Once this life has given versions itself, its
  // own number coming back is no news.
  void NoteSeen(std::uint64_t seen) {
    const bool from_a_predecessor =
        seen > incarnation_ || (seen == incarnation_ && !gave_versions_);
    if (from_a_predecessor && seen < std::numeric_limits<std::uint64_t>::max()) {
      incarnation_ = seen + 1;
    }
  }

  std::uint64_t incarnation() const { return incarnation_; }
  std::uint64_t sequence() const { return sequence_; }
  bool gave_versions() const { return gave_versions_; }
  std::uint64_t requests() const { return requests_; }

 private:
  std::uint64_t incarnation_;
  std::uint64_t sequence_ = 0;
  std::uint64_t requests_ = 0;
  bool gave_versions_ = false;
};

}  // namespace hoplite::planner
