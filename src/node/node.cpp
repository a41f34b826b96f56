#include "node/node.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/try.h"
#include "node/local/local_endpoint.h"
#include "node/parts.h"
#include "node/world.h"

namespace hoplite::node {
namespace {

constexpr Duration kStopBound = std::chrono::seconds(10);

// Loops, sockets that listen, sessions with shards, and some connections: what it begins with.
std::size_t DescriptorsFor(const NodeConfig& config) {
  return 32 + 4 * config.data_threads + 4 * config.directory.size();
}

}  // namespace

Node::Node(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)),
      endpoint_(std::make_unique<LocalEndpoint>(
          parts_->core, ClientLimits{.requests = parts_->config.requests_per_client,
                                     .pins = parts_->config.pins_per_client})) {}

Node::~Node() { Stop(); }

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config) {
  return Start(config, World());
}

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config, World world) {
  TRY(config.Validate());
  TRY(RequireDescriptors(DescriptorsFor(config), "a node"));
  world = WithDefaults(config, std::move(world));
  TRY_ASSIGN(std::shared_ptr<store::SharedSegment> segment, world.segment(config.memory_bytes));
  TRY_ASSIGN(std::unique_ptr<Node> node, OrExhausted("a node's parts", [&] {
               return Result<std::unique_ptr<Node>>(new Node(std::make_unique<Parts>(
                   config, MakeSettings(config), world, std::move(segment))));
             }));
  Parts& parts = *node->parts_;
  TRY(parts.runtime.Start(parts.settings.name));
  TRY(parts.Listen());
  Result<void> listening;
  parts.runtime.OnMain([&] {
    if (!config.socket.empty()) listening = node->endpoint_->Listen(config.socket);
    if (listening) parts.Join();
  });
  TRY(listening);
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
  const std::shared_lock lock(loops_);
  parts_->runtime.OnMain([&] { usage = parts_->store.usage(); });
  return usage;
}

std::shared_ptr<store::SharedSegment> Node::segment() { return parts_->segment; }

Result<int> Node::AttachLocal() {
  int ends[2];
  const std::shared_lock lock(loops_);
  if (stopped_ || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable, stopped_ ? "the node has stopped" : std::strerror(errno)));
  }
  Result<void> added;
  parts_->runtime.OnMain([&] {
    if (stopped_) {  // meanwhile: the endpoint takes nobody any more
      ::close(ends[0]);
      added = std::unexpected(Error(ErrorCode::kUnavailable, "the node has stopped"));
    } else {
      added = endpoint_->AddSession(ends[0]);
    }
  });
  if (added) return ends[1];
  ::close(ends[1]);
  return std::unexpected(added.error());
}

void Node::Stop() {
  if (stopped_.exchange(true)) return;
  Parts& parts = *parts_;
  parts.runtime.OnMain([this, &parts] {
    endpoint_->Stop();
    parts.Stop(Error(ErrorCode::kUnavailable, "the node is stopping"));
  });
  const bool quiet = parts.runtime.WaitForTasks(kStopBound);
  parts.runtime.JoinPool();
  parts.runtime.OnMain([&parts] { parts.directory->Stop(); });
  const std::unique_lock lock(loops_);
  parts.runtime.StopLoops();
  if (!quiet) {
    // A task that hangs is a bug; its frame refers to all of it, which is kept for good.
    log::ErrorLine("{}: a task did not end at the node's stop", parts.settings.name);
    static_cast<void>(endpoint_.release());
    static_cast<void>(parts_.release());
  }
}

}  // namespace hoplite::node
