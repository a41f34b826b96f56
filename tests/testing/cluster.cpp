#include "testing/cluster.h"

#include <algorithm>
#include <future>

#include <asio/post.hpp>
#include <gtest/gtest.h>

#include "base/check.h"
#include "net/tcp_transport.h"
#include "testing/standstill.h"

namespace hoplite::testing {

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  directory_ =
      std::make_unique<directory::InProcessDirectory>(directory_thread_.loop(), options_.directory);
  observer_ = directory_->MakeClient(directory_thread_.loop());
  for (std::size_t i = 0; i < options_.nodes; ++i) Add(options_);
}

Cluster::~Cluster() {
  for (const auto& node : nodes_) node->Stop();
  directory_thread_.Join();
  nodes_.clear();
  observer_.reset();
  directory_.reset();
}

std::size_t Cluster::Add(const ClusterOptions& options) {
  NodeConfig config;
  for (std::size_t shard = 1; shard <= options_.directory.shards; ++shard) {
    config.directory.push_back("in-process:" + std::to_string(shard));
  }
  config.listen = "127.0.0.1:0";
  config.memory_bytes = options.memory_bytes;
  config.socket = options.socket;
  config.name = "n" + std::to_string(nodes_.size());
  config.rate_bytes_per_second = options.rate_bytes_per_second;
  config.security = options.security;
  config.spill_folder = options.spill_folder;
  config.spill_limit_bytes = options.spill_limit_bytes;
  config.stall = options.stall;
  config.keepalive = options.keepalive;
  node::Environment world;
  world.directory = [this](asio::io_context& loop) { return directory_->MakeClient(loop); };
  world.disk = options.disk;
  if (options.between) {
    world = node::WithDefaults(config, std::move(world));
    world.transport = [make = world.transport, between = options.between](const auto& loops) {
      return between(make(loops));
    };
  }
  auto node = node::Node::Start(config, std::move(world));
  HOPLITE_CHECK(node.has_value(), node.error().message.c_str());
  nodes_.push_back(std::move(*node));
  return nodes_.size() - 1;
}

namespace {

// Asks on the loop and waits here.
template <typename T>
Result<T> Answer(asio::io_context& loop,
                 const std::function<void(std::function<void(Result<T>)>)>& ask) {
  auto answered = std::make_shared<std::promise<Result<T>>>();
  asio::post(loop, [ask, answered] {
    ask([answered](Result<T> result) { answered->set_value(std::move(result)); });
  });
  return answered->get_future().get();
}

}  // namespace

std::vector<protocol::NodeView> Cluster::Members() {
  return Answer<protocol::StatusPage>(directory_thread_.loop(),
                                      [this](auto done) {
                                        observer_->Status(0, {}, std::chrono::seconds(10),
                                                          std::move(done));
                                      })
      .value()
      .nodes;
}

NodeId Cluster::id(std::size_t i) {
  NodeId found = kNoNode;
  const auto joined = [&] {
    for (const auto& member : Members()) {
      if (member.node.name == nodes_[i]->name()) found = member.node.id;
    }
    return found != kNoNode;
  };
  HOPLITE_CHECK(Eventually(joined), "a node joins the directory");
  return found;
}

bool Cluster::has_session(NodeId node) {
  return std::ranges::any_of(
      Members(), [&](const auto& member) { return member.node.id == node && member.alive; });
}

std::shared_ptr<void> Cluster::StopDirectory() {
  return std::make_shared<test::Standstill>(directory_thread_.loop());
}

Result<protocol::ObjectView> Cluster::Find(const ObjectId& object) {
  return Answer<protocol::ObjectView>(directory_thread_.loop(), [this, object](auto done) {
    observer_->Find(object, std::chrono::seconds(10), std::move(done));
  });
}

Client ClientOf(node::Node& node) {
  const auto socket = node.AttachLocal();
  HOPLITE_CHECK(socket.has_value(), "a session of a running node");
  const auto segment = node.segment();
  auto connection = client::Connection::Attach(
      *socket, client::SegmentMap::Of(segment->bytes(), segment->read_only_descriptor(), segment),
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

bool SoonDeleted(Client client, const ObjectId& id) {
  constexpr std::chrono::seconds kBound(30);
  return Eventually(
      [&] {
        const auto got = client.Get(id, {.timeout = kBound});
        return !got && got.error().code == ErrorCode::kDeleted;
      },
      kBound);
}

}  // namespace hoplite::testing
