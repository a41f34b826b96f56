#include "testing/cluster.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "net/tcp_transport.h"

namespace hoplite::testing {

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  directory_ =
      std::make_unique<directory::InProcessDirectory>(directory_thread_.loop(), options_.directory);
  for (std::size_t i = 0; i < options_.nodes; ++i) Add(options_);
}

Cluster::~Cluster() {
  for (const auto& node : nodes_) node->Stop();
  directory_thread_.Join();
  nodes_.clear();
  directory_.reset();
}

std::size_t Cluster::Add(const ClusterOptions& options) {
  NodeConfig config;
  config.directory.assign(options_.directory.shards, "in-process:1");
  config.listen = "127.0.0.1:0";
  config.memory_bytes = options.memory_bytes;
  config.name = "n" + std::to_string(nodes_.size());
  config.rate_bytes_per_second = options.rate_bytes_per_second;
  // Sanitizers and shared machines are slow; no test here is about silence.
  config.stall = std::chrono::seconds(10);
  node::World world;
  world.directory = [this](asio::io_context& loop) { return directory_->MakeClient(loop); };
  auto node = node::Node::Start(config, std::move(world));
  HOPLITE_CHECK(node.has_value(), node.error().message.c_str());
  nodes_.push_back(std::move(*node));
  return nodes_.size() - 1;
}

Client Cluster::client(std::size_t i) {
  const auto socket = nodes_[i]->AttachLocal();
  HOPLITE_CHECK(socket.has_value(), "a session of a running node");
  const auto segment = nodes_[i]->segment();
  auto connection =
      client::Connection::Attach(*socket, client::SegmentMap::Of(segment->bytes(), segment),
                                 std::chrono::steady_clock::now() + std::chrono::seconds(10));
  HOPLITE_CHECK(connection.has_value(), connection.error().message.c_str());
  return ClientAccess::Make(std::move(*connection));
}

std::string Pattern(std::uint64_t size, std::uint64_t seed) {
  std::string bytes(size, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::uint64_t i = 0; i < size; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    for (std::uint64_t j = i; j < std::min(i + 8, size); ++j) {
      bytes[j] = static_cast<char>(state >> (8 * (j - i)));
    }
  }
  return bytes;
}

std::string Text(const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.bytes().data()), buffer.bytes().size()};
}

bool Eventually(const std::function<bool()>& condition, std::chrono::milliseconds bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace hoplite::testing
