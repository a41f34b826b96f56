// DirectoryCluster: real shards over gRPC on free ports of the loopback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include "base/check.h"
#include "base/time.h"
#include "directory/directory_server.h"
#include "directory/grpc_directory_client.h"

namespace hoplite::test {

// An address that was free a moment ago. Listening there may fail, and is then tried elsewhere.
inline std::string FreeAddress() {
  asio::io_context loop;
  const asio::ip::tcp::acceptor acceptor(loop,
                                         {asio::ip::make_address("127.0.0.1"), std::uint16_t{0}});
  return "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
}

class DirectoryCluster {
 public:
  // A lease far longer than any pause of the machine, so that no test depends on its speed.
  static directory::DirectoryServerOptions Patient() {
    directory::DirectoryServerOptions options;
    options.lease = std::chrono::seconds(30);
    options.tombstone = std::chrono::minutes(2);
    options.recovery_window = std::chrono::milliseconds(0);
    return options;
  }

  explicit DirectoryCluster(std::size_t shards,
                            directory::DirectoryServerOptions options = Patient())
      : options_(std::move(options)) {
    for (std::size_t shard = 0; shard < shards; ++shard) addresses_.push_back(FreeAddress());
    options_.shards = addresses_;
    servers_.resize(shards);
    for (std::size_t shard = 0; shard < shards; ++shard) StartShard(shard);
  }

  void StopShard(std::size_t shard) { servers_[shard].reset(); }
  void StartShard(std::size_t shard) {
    options_.listen = addresses_[shard];
    for (int attempt = 0; attempt < 100; ++attempt) {
      auto server = directory::DirectoryServer::Start(options_);
      if (server) {
        servers_[shard] = *std::move(server);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    HOPLITE_CHECK(false, "no shard could be started on its address");
  }

  directory::GrpcDirectoryClientOptions client_options() const {
    return {.shards = addresses_, .cluster = options_.cluster, .times = {}};
  }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  directory::DirectoryServerOptions options_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<directory::DirectoryServer>> servers_;
};

}  // namespace hoplite::test
