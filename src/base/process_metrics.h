// What every member exports of its process, under the names that Prometheus' client libraries use.
#pragma once

#include "base/metric.h"
#include "base/process_use.h"
#include "base/time.h"

namespace hoplite {

inline Metrics MetricsOf(const ProcessUse& process) {
  return {
      {"hoplite_build_info",
       "1, with the version of the program",
       MetricKind::kGauge,
       "version",
       {{process.version, 1}}},
      GaugeOf("process_resident_memory_bytes",
              "Memory that the process has touched, what it maps included", process.resident_bytes),
      GaugeOf("process_open_fds", "Open file descriptors", process.descriptors),
      GaugeOf("process_max_fds", "Limit of open file descriptors", process.descriptor_limit),
      CounterOf("process_cpu_seconds_total", "Processor time of the process",
                ToSeconds(process.processor_time))};
}

}  // namespace hoplite
