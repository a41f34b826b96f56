// As much of HTTP as a scrape needs: one request without a body, one answer, then the connection ends.
//
// Decides: when a request is whole, and what it is answered. Is told: all bytes that came so far. Must
// never: ask for more than kMaxHeadBytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace hoplite::metrics {

inline constexpr std::size_t kMaxHeadBytes = 8_KiB;

enum class Verdict : std::uint8_t {
  kUnfinished,  // more has to come
  kMetrics,     // GET /metrics
  kHead,        // HEAD /metrics: the same without a body
  kElsewhere,   // another path
  kOtherMethod,
  kMalformed,  // no HTTP, or too long
};

Verdict Judge(std::string_view begun);
// All bytes of the answer. `text`: the metrics.
std::string AnswerTo(Verdict verdict, std::string_view text);

}  // namespace hoplite::metrics
