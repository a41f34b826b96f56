// Grace: how long an owner that is gone without a message owns (R53).
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace hoplite::planner {

using Grace = std::optional<Duration>;  // none: the directory's orphan grace

// None lasts longer than a tombstone.
struct GraceTerms {
  Duration orphan_grace{0};
  Duration tombstone{0};

  Duration Length(const Grace& grace) const {
    return grace ? std::min(*grace, tombstone) : orphan_grace;
  }
  const Grace& Longer(const Grace& one, const Grace& other) const {
    return Length(one) < Length(other) ? other : one;
  }
};

}  // namespace hoplite::planner
