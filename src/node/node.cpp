#include "node/node.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "directory/cluster_id.h"
#include "node/core.h"
#include "node/data_plane.h"
#include "node/joining.h"
#include "node/local_endpoint.h"
#include "node/serve.h"
#include "node/world.h"

namespace hoplite::node {
namespace {

constexpr Duration kSweepEvery = std::chrono::seconds(1);
constexpr Duration kStopBound = std::chrono::seconds(10);

Settings MakeSettings(const NodeConfig& config) {
  Settings settings;
  settings.self = RandomNodeId();
  settings.name =
      config.name.empty() ? "node-" + ToString(settings.self).substr(0, 8) : config.name;
  settings.cluster_id = directory::ClusterId(config.directory, config.cluster);
  settings.keepalive = config.keepalive;
  settings.stall = config.stall;
  return settings;
}

// What peers are told: the port that was really bound, at the advertised host.
Result<std::string> AdvertisedAddress(const NodeConfig& config, const std::string& bound) {
  TRY_ASSIGN(HostPort address, ParseHostPort(bound));
  if (!config.advertise.empty()) address.host = config.advertise;
  return address.ToString();
}

}  // namespace

// Members in the order of their dependencies: each uses only those above it. The runtime's loops
// are stopped, and every task has ended, before any of them is destroyed.
struct Node::Parts {
  Parts(const NodeConfig& config_in, const World& world,
        std::shared_ptr<store::SharedSegment> segment_in)
      : config(config_in),
        settings(MakeSettings(config_in)),
        runtime(config_in.data_threads),
        segment(std::move(segment_in)),
        store(segment, [this] { asio::post(runtime.main(), [this] { memory.OnSpace(); }); }),
        directory(world.directory(runtime.main())),
        memory(store, *directory),
        services{settings, clock, runtime, store, *directory, memory, table, counters},
        data_plane(services, world.transport(runtime.data_loops())),
        server(services, data_plane),
        core(services, data_plane),
        endpoint(core),
        ticked(runtime.main()) {}

  net::Task<void> SweepNowAndThen() {
    while (!stopping) {
      co_await ticked.Wait(clock.Now() + kSweepEvery);
      core.Sweep();
    }
  }

  const NodeConfig config;
  const Settings settings;
  const SteadyClock clock;
  Counters counters;
  Runtime runtime;
  const std::shared_ptr<store::SharedSegment> segment;
  store::ObjectStore store;
  const std::unique_ptr<directory::DirectoryClient> directory;
  Memory memory;
  ObjectTable table;
  Services services;
  DataPlane data_plane;
  Server server;
  Core core;
  LocalEndpoint endpoint;
  net::Signal ticked;
  Joining joining;
  bool stopping = false;  // main loop only
  std::atomic<bool> stopped{false};
  std::string address;
};

Node::Node(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Node::~Node() { Stop(); }

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config) {
  return Start(config, World());
}

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config, World world) {
  TRY(config.Validate());
  world = WithDefaults(config, std::move(world));
  TRY_ASSIGN(std::shared_ptr<store::SharedSegment> segment, world.segment(config.memory_bytes));
  std::unique_ptr<Node> node(new Node(std::make_unique<Parts>(config, world, std::move(segment))));
  Parts& parts = *node->parts_;
  parts.runtime.Start(parts.settings.name);
  TRY(parts.data_plane.Listen(config.listen, [&parts](DataLoop& data_loop, net::StreamPtr stream) {
    parts.server.Accept(data_loop, std::move(stream));
  }));
  TRY_ASSIGN(parts.address, AdvertisedAddress(config, parts.data_plane.address()));
  Result<void> listening;
  parts.runtime.OnMain([&] {
    if (!config.socket.empty()) listening = parts.endpoint.Listen(config.socket);
    if (!listening) return;
    directory::DirectoryClient::Hooks hooks;
    hooks.on_action = [&parts](const planner::NodeAction& action) { parts.core.OnAction(action); };
    hooks.inventory = [&parts](std::size_t shard) { return parts.core.Inventory(shard); };
    hooks.on_session = [&parts](std::size_t shard, bool open) {
      parts.core.OnSession(shard, open);
    };
    hooks.on_outlived = [&parts](std::size_t shard) { parts.core.OnOutlived(shard); };
    hooks.on_lost = [&parts](std::size_t shard) { parts.core.OnLost(shard); };
    hooks.on_settled = [&parts](std::size_t shard) { parts.joining.Settled(shard); };
    hooks.on_refused = [&parts](const Error& error) {
      const std::string why = "the directory refuses this node: " + error.message;
      parts.core.Stop(Error(ErrorCode::kUnavailable, why));
      parts.joining.Refused(Error(error.code, why));
    };
    parts.directory->Start({parts.settings.self, parts.settings.name, parts.address},
                           std::move(hooks));
  });
  if (!listening) return std::unexpected(listening.error());
  parts.runtime.Spawn(parts.runtime.main(), "sweep", parts.SweepNowAndThen());
  TRY(parts.joining.Wait(parts.directory->shard_count()));
  log::Info("{}: serves at {}", parts.settings.name, parts.address);
  return node;
}

const std::string& Node::name() const { return parts_->settings.name; }
const std::string& Node::address() const { return parts_->address; }
const std::string& Node::socket() const { return parts_->config.socket; }
const Counters& Node::counters() const { return parts_->counters; }
std::optional<Error> Node::refusal() const { return parts_->joining.refusal(); }
store::StoreUsage Node::usage() const {
  store::StoreUsage usage;
  parts_->runtime.OnMain([&] { usage = parts_->store.usage(); });
  return usage;
}

std::shared_ptr<store::SharedSegment> Node::segment() { return parts_->segment; }

Result<int> Node::AttachLocal() {
  int ends[2];
  if (parts_->stopped || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::unexpected(Error(ErrorCode::kUnavailable,
                                 parts_->stopped ? "the node has stopped" : std::strerror(errno)));
  }
  Result<void> added;
  parts_->runtime.OnMain([&] { added = parts_->endpoint.AddSession(ends[0]); });
  if (added) return ends[1];
  ::close(ends[1]);
  return std::unexpected(added.error());
}

void Node::Stop() {
  if (parts_->stopped.exchange(true)) return;
  Parts& parts = *parts_;
  parts.runtime.OnMain([&parts] {
    parts.stopping = true;
    parts.ticked.Notify();
    parts.endpoint.Stop();
    parts.core.Stop(Error(ErrorCode::kUnavailable, "the node is stopping"));
    parts.data_plane.Stop();
  });
  const bool quiet = parts.runtime.WaitForTasks(kStopBound);
  parts.runtime.JoinPool();
  parts.runtime.OnMain([&parts] { parts.directory->Stop(); });
  parts.runtime.StopLoops();
  if (!quiet) {
    // A task that hangs is a bug; its frame refers to the parts, so they are kept for good.
    log::ErrorLine("{}: a task did not end at the node's stop", parts.settings.name);
    static_cast<void>(parts_.release());
  }
}

}  // namespace hoplite::node
