// MetricsServer: the port at which Prometheus scrapes a member.
//
// It has one thread of its own, so that a scrape takes nothing from the member's loops but the time of
// one snapshot.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <hoplite/result.h>

#include "base/metric.h"

namespace hoplite::metrics {

class MetricsServer {
 public:
  // `snapshot` runs on the server's thread, once a second at most, and may wait for the member.
  //   unavailable         the address can't be listened at
  //   resource_exhausted  there are not enough descriptors or threads
  static Result<std::unique_ptr<MetricsServer>> Start(const std::string& listen,
                                                      std::function<Metrics()> snapshot);
  // Closes all connections. Before what `snapshot` refers to goes.
  ~MetricsServer();

  const std::string& address() const;  // HOST:PORT really bound

 private:
  class Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite::metrics
