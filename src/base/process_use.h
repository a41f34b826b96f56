// What this process takes of its host, beside what it does there: for status and metrics.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace hoplite {

struct ProcessUse {
  std::string version;               // of Hoplite; empty: it did not tell
  std::uint64_t resident_bytes = 0;  // memory that it has touched, what it maps included
  std::uint64_t descriptors = 0;     // open now
  std::uint64_t descriptor_limit = 0;
  Duration processor_time{0};  // of all threads, since its start

  friend bool operator==(const ProcessUse&, const ProcessUse&) = default;
};

// As of now, by system calls that take microseconds. What can't be read is 0.
ProcessUse OwnProcessUse();

}  // namespace hoplite
