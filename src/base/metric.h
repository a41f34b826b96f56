// Metric: one thing that a member counts or measures, as it is shown to whoever watches the member
// from outside. Plain values: a member fills them in, src/metrics makes text of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/latency.h"

namespace hoplite {

enum class MetricKind : std::uint8_t { kCounter, kGauge, kHistogram };

struct MetricSample {
  std::string label;  // the value of the metric's label; empty if it has none
  double value = 0;
};

struct Metric {
  std::string name;
  std::string help;  // one sentence without its full stop
  MetricKind kind = MetricKind::kGauge;
  std::string label = {};                  // by which its samples differ; empty: there is only one
  std::vector<MetricSample> samples = {};  // of a counter or a gauge
  LatencyCounts latency = {};              // of a histogram
};
using Metrics = std::vector<Metric>;

template <typename Number>
Metric CounterOf(std::string name, std::string help, Number value) {
  return {std::move(name),
          std::move(help),
          MetricKind::kCounter,
          "",
          {{"", static_cast<double>(value)}}};
}
template <typename Number>
Metric GaugeOf(std::string name, std::string help, Number value) {
  return {
      std::move(name), std::move(help), MetricKind::kGauge, "", {{"", static_cast<double>(value)}}};
}
inline Metric HistogramOf(std::string name, std::string help, const LatencyHistogram& histogram) {
  return {std::move(name), std::move(help), MetricKind::kHistogram, "", {}, histogram.counts()};
}

}  // namespace hoplite
