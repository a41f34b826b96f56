// DirectoryServer: one shard as a gRPC service. One thread reads what nodes say, owns the
// DirectoryState and the lease monitor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "base/time.h"

namespace hoplite::directory {

struct DirectoryServerOptions : DirectoryConfig {
  // How long a connection may take to say its first words of HTTP/2.
  Duration handshake = std::chrono::seconds(5);
};

class DirectoryServer {
 public:
  static Result<std::unique_ptr<DirectoryServer>> Start(const DirectoryServerOptions& options);
  ~DirectoryServer();  // stops

  const std::string& address() const;  // HOST:PORT really bound
  void Stop();                         // ends sessions, waits for gRPC; idempotent, any thread

 private:
  class Impl;
  explicit DirectoryServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoplite::directory
