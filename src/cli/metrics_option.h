// --metrics HOST:PORT of the daemons: where Prometheus scrapes them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <hoplite/result.h>

#include "base/metric.h"
#include "metrics/metrics_server.h"

namespace hoplite::cli {

void AddMetrics(CLI::App& command, std::string& address);

// Null unless an address is given.
Result<std::unique_ptr<metrics::MetricsServer>> StartMetrics(const std::string& address,
                                                             std::function<Metrics()> snapshot);

// For the end of a ready line; empty if there is no address.
std::string MetricsInWords(const std::string& address);

}  // namespace hoplite::cli
