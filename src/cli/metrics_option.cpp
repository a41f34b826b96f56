#include "cli/metrics_option.h"

#include <utility>

#include <fmt/format.h>

#include "cli/options.h"

namespace hoplite::cli {

void AddMetrics(CLI::App& command, std::string& address) {
  AddAddress(command, "--metrics", address,
             "where Prometheus scrapes it, at /metrics; port 0 picks one");
}

Result<std::unique_ptr<metrics::MetricsServer>> StartMetrics(const std::string& address,
                                                             std::function<Metrics()> snapshot) {
  if (address.empty()) return std::unique_ptr<metrics::MetricsServer>();
  auto server = metrics::MetricsServer::Start(address, std::move(snapshot));
  if (server) return server;
  return std::unexpected(Error(server.error().code, "--metrics: " + server.error().message));
}

std::string MetricsInWords(const std::string& address) {
  return address.empty() ? "" : fmt::format(", its metrics are at http://{}/metrics", address);
}

}  // namespace hoplite::cli
