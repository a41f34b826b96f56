// DirectoryCluster: real shards on free ports of the loopback.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include "base/check.h"
#include "base/time.h"
#include "directory/directory_server.h"
#include "directory/tcp_directory_client.h"

namespace hoplite::test {

// An address that was free a moment ago: anybody may take it before it is listened at.
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

  // `free_address` is asked once per shard, and again for all of them if one can't be listened at.
  explicit DirectoryCluster(std::size_t shards,
                            directory::DirectoryServerOptions options = Patient(),
                            const std::function<std::string()>& free_address = FreeAddress)
      : options_(std::move(options)), servers_(shards) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (StartAllAt(free_address)) return;
    }
    HOPLITE_CHECK(false, "no free addresses were found for the shards");
  }

  void StopShard(std::size_t shard) { servers_[shard].reset(); }
  // Where it was before.
  void StartShard(std::size_t shard) {
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (TryStart(shard)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    HOPLITE_CHECK(false, "a shard could not be started again at its address");
  }

  directory::TcpDirectoryOptions client_options() const {
    return {.shards = addresses_, .cluster = options_.cluster, .times = {}};
  }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  // Each shard is told the addresses of all, so they are chosen together.
  bool StartAllAt(const std::function<std::string()>& free_address) {
    addresses_.clear();
    for (auto& server : servers_) {
      server.reset();
      addresses_.push_back(free_address());
    }
    options_.shards = addresses_;
    return std::ranges::all_of(std::views::iota(std::size_t{0}, servers_.size()),
                               [this](std::size_t shard) { return TryStart(shard); });
  }
  bool TryStart(std::size_t shard) {
    options_.listen = addresses_[shard];
    auto server = directory::DirectoryServer::Start(options_);
    if (server) servers_[shard] = *std::move(server);
    return server.has_value();
  }

  directory::DirectoryServerOptions options_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<directory::DirectoryServer>> servers_;
};

}  // namespace hoplite::test
