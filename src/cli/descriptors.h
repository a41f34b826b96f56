// Raises how many descriptors this process may have open from what a shell sets for its commands to
// what the machine allows. For daemons, which strangers connect to.
#pragma once

#include <sys/resource.h>

namespace hoplite::cli {

inline void AllowAllDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace hoplite::cli
