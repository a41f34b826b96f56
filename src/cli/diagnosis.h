// Diagnosis: what an examination means, in lines for an operator: each is well, or says what to do.
// Decides: what is well. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/examination.h"

namespace hoplite::cli {

struct Finding {
  bool ok = true;
  std::string subject;  // "n1", "directory shard 0 at H1:7000"
  std::string what;     // that was found
  std::string advice;   // empty: nothing is to be done

  friend bool operator==(const Finding&, const Finding&) = default;
};

// `version`: of this program. In the order in which an operator mends them.
std::vector<Finding> Diagnose(const Examination& found, const std::string& version);

}  // namespace hoplite::cli
