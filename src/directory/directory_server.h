// DirectoryServer: one shard on a TCP port. One thread reads what nodes say, owns the DirectoryState
// and the lease monitor, and writes the answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "base/metric.h"
#include "base/time.h"
#include "net/security.h"

namespace hoplite::directory {

class DirectoryService;

using DirectoryServerOptions = DirectoryConfig;

class DirectoryServer {
 public:
  static Result<std::unique_ptr<DirectoryServer>> Start(const DirectoryServerOptions& options);
  ~DirectoryServer();  // stops

  const std::string& address() const;  // HOST:PORT really bound
  // By which it recognizes its members; null: it does not.
  net::SecurityPtr security() const;
  // For who asks it in this process, and lets go of it before Stop.
  std::shared_ptr<DirectoryService> service() const;
  // What the shard counts and measures. Waits for its loop; before Stop.
  Metrics metrics() const;
  void Stop();  // ends sessions; idempotent, any thread

 private:
  class Impl;
  explicit DirectoryServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite::directory
