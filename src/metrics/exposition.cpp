#include "metrics/exposition.h"

#include <cstddef>
#include <limits>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace hoplite::metrics {
namespace {

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
    case MetricKind::kGauge:
      break;
  }
  return prometheus::MetricType::Gauge;
}

prometheus::ClientMetric ToClient(const Metric& metric, const MetricSample& sample) {
  prometheus::ClientMetric client;
  if (!metric.label.empty()) client.label.push_back({metric.label, sample.label});
  client.gauge.value = client.counter.value =
      sample.value;  // the serializer takes that of its type
  return client;
}

// The text has each bucket with those below it.
prometheus::ClientMetric ToClient(const LatencyCounts& counts) {
  prometheus::ClientMetric client;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.buckets.size(); ++i) {
    sum += counts.buckets[i];
    const double bound =
        i < kLatencyBounds.size() ? kLatencyBounds[i] : std::numeric_limits<double>::infinity();
    client.histogram.bucket.push_back({sum, bound});
  }
  client.histogram.sample_count = sum;
  client.histogram.sample_sum = counts.sum_seconds;
  return client;
}

prometheus::MetricFamily ToFamily(const Metric& metric) {
  prometheus::MetricFamily family{metric.name, metric.help, TypeOf(metric.kind), {}};
  for (const MetricSample& sample : metric.samples) {
    family.metric.push_back(ToClient(metric, sample));
  }
  if (metric.kind == MetricKind::kHistogram) family.metric.push_back(ToClient(metric.latency));
  return family;
}

}  // namespace

std::string ToText(const Metrics& metrics) {
  std::vector<prometheus::MetricFamily> families;
  families.reserve(metrics.size());
  for (const Metric& metric : metrics) families.push_back(ToFamily(metric));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace hoplite::metrics
