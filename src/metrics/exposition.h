// Metrics as text in the format of Prometheus, version 0.0.4. prometheus-cpp writes the text; nothing
// else in the project knows that library.
#pragma once

#include <string>

#include "base/metric.h"

namespace hoplite::metrics {

inline constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

std::string ToText(const Metrics& metrics);

}  // namespace hoplite::metrics
