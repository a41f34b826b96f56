#include "node/core/environment.h"

#include <memory>
#include <utility>

#include "directory/tcp_directory_client.h"
#include "net/rate_limiter.h"
#include "net/tcp_transport.h"

namespace hoplite::node {

Environment WithDefaults(const NodeConfig& config, Environment environment,
                         const net::SecurityPtr& security) {
  if (!environment.directory) {
    environment.directory = [config, security](asio::io_context& loop) {
      directory::TcpDirectoryOptions options;
      options.shards = config.directory;
      options.cluster = config.cluster;
      options.security = security;
      return directory::MakeTcpDirectoryClient(loop, options);
    };
  }
  if (!environment.transport) {
    environment.transport = [rate = config.rate_bytes_per_second,
                             security](std::vector<asio::io_context*> loops) {
      net::TcpOptions options;
      options.security = security;
      if (rate > 0) {
        options.send_limit = std::make_shared<net::RateLimiter>(rate);
        options.receive_limit = std::make_shared<net::RateLimiter>(rate);
      }
      return std::make_unique<net::TcpTransport>(std::move(loops), std::move(options));
    };
  }
  if (!environment.segment) environment.segment = store::CreateMemfdSegment;
  if (!environment.disk) environment.disk = store::OpenDisk;
  if (!environment.decisions) environment.decisions = std::make_shared<Decisions>();
  if (!environment.process) environment.process = OwnProcessUse;
  return environment;
}

}  // namespace hoplite::node
