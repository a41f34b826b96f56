#include "node/node.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/exhaustion.h"
#include "base/log.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/try.h"
#include "net/open_door.h"
#include "net/security.h"
#include "node/assembly.h"
#include "node/core/environment.h"
#include "node/local/local_endpoint.h"
#include "node/node_metrics.h"
#include "node/own_address.h"

namespace hoplite::node {
namespace {

constexpr Duration kStopBound = std::chrono::seconds(10);

// Loops, sockets that listen, sessions with shards, and some connections: what it begins with.
std::size_t DescriptorsFor(const NodeConfig& config) {
  return 32 + 4 * config.data_threads + 4 * config.directory.size();
}

// Its loops, and a few that come and go; of a disk four.
std::size_t ThreadsFor(const NodeConfig& config) {
  return 4 + config.data_threads + (config.spill_folder.empty() ? 0 : 4);
}

// Of its disk, together with the other nodes there.
std::uint64_t PromisedBytes(const NodeConfig& config) {
  std::uint64_t all = 0;
  const bool beyond =
      __builtin_mul_overflow(config.spill_limit_bytes, std::uint64_t{config.spill_nodes}, &all);
  return beyond ? std::numeric_limits<std::uint64_t>::max() : all;
}

// Others would look for this node on their own hosts.
void WarnOfAddress(const NodeConfig& config, const std::string& address) {
  const std::string wrong = WrongBesideDirectory(address, config.directory);
  if (!wrong.empty()) log::Warn("{}", wrong);
}

ClientLimits LimitsOf(const NodeConfig& config) {
  return {.requests = config.requests_per_client,
          .pins = config.pins_per_client,
          .quota = {.bytes = config.quota_bytes, .objects = config.quota_objects},
          .others_write = !config.socket_group.empty()};
}

}  // namespace

Node::Node(std::unique_ptr<Assembly> parts)
    : assembly_(std::move(parts)),
      endpoint_(std::make_unique<LocalEndpoint>(assembly_->calls, LimitsOf(assembly_->config))) {
  assembly_->memory.AskOfClients([endpoint = endpoint_.get()] { return endpoint->KeptInWords(); });
}

Node::~Node() {
  Stop();
  if (!abandoned_) return;
  static_cast<void>(endpoint_.release());
  static_cast<void>(assembly_.release());
}

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config, std::stop_token stop) {
  return Start(config, Environment(), std::move(stop));
}

Result<std::unique_ptr<Node>> Node::Start(const NodeConfig& config, Environment environment,
                                          std::stop_token stop) {
  TRY(config.Validate());
  TRY(RequireDescriptors(DescriptorsFor(config), "a node"));
  TRY(RequireThreads(ThreadsFor(config), "a node"));
  // Whoever brings a directory along does not connect to the one that is configured.
  const bool connects_to_directory = !environment.directory;
  // Whoever brings a transport along listens nowhere else.
  if (!environment.transport) TRY(net::RequireNoOpenDoor(config.listen, config.security));
  TRY_ASSIGN(const net::SecurityPtr security,
             net::Security::Load(config.security, net::TlsRole::kNode, config.cluster));
  environment = WithDefaults(config, std::move(environment), security);
  log::Info("reserves the first of {} of memory", FormatSize(config.memory_bytes));
  TRY_ASSIGN(std::shared_ptr<store::SharedSegment> segment,
             environment.segment(config.memory_bytes));
  std::shared_ptr<store::Disk> disk;
  if (!config.spill_folder.empty()) {
    TRY_ASSIGN(disk, environment.disk(config.spill_folder, PromisedBytes(config)));
  }
  TRY_ASSIGN(
      std::unique_ptr<Node> node, OrExhausted("a node's parts", [&] {
        return Result<std::unique_ptr<Node>>(new Node(std::make_unique<Assembly>(
            config, MakeSettings(config), environment, std::move(segment), std::move(disk))));
      }));
  Assembly& assembly = *node->assembly_;
  TRY(assembly.runtime.Start(assembly.settings.name));
  TRY(assembly.Listen());
  if (connects_to_directory) WarnOfAddress(config, assembly.address);
  Result<void> listening;
  assembly.runtime.OnMain([&] {
    if (!config.socket.empty())
      listening = node->endpoint_->Listen(config.socket, config.socket_group);
    if (listening) assembly.Join();
  });
  TRY(listening);
  const std::stop_callback interrupt(std::move(stop), [&assembly] {
    assembly.admittance.Refused(
        Error(ErrorCode::kCancelled, "the start was stopped before the directory took this node"));
  });
  log::Info("{}: waits to be taken in by the directory at {}", assembly.settings.name,
            fmt::join(config.directory, ", "));
  TRY(assembly.admittance.Wait(assembly.directory->shard_count()));
  log::Info("{}: serves at {}", assembly.settings.name, assembly.address);
  return node;
}

const std::string& Node::name() const { return assembly_->settings.name; }
const std::string& Node::address() const { return assembly_->address; }
const std::string& Node::socket() const { return assembly_->config.socket; }
const Counters& Node::counters() const { return assembly_->counters; }
std::optional<Error> Node::refusal() const { return assembly_->admittance.refusal(); }
store::StoreUsage Node::usage() const {
  store::StoreUsage usage;
  const std::shared_lock lock(loops_);
  assembly_->runtime.OnMain([&] { usage = assembly_->store.usage(); });
  return usage;
}

Metrics Node::metrics() const {
  NodeMetrics looks;
  Metrics metrics;
  const std::shared_lock lock(loops_);
  for (bool more = true; more;) {
    assembly_->runtime.OnMain([&] { more = looks.Look(*assembly_); });
  }
  assembly_->runtime.OnMain([&] { metrics = looks.Give(*assembly_, endpoint_->clients()); });
  return metrics;
}

Duration Node::idle() const {
  Duration idle{0};
  const std::shared_lock lock(loops_);
  assembly_->runtime.OnMain([&] { idle = endpoint_->idle(); });
  return idle;
}

std::vector<std::string> Node::away() const {
  std::vector<std::string> away;
  const std::shared_lock lock(loops_);
  assembly_->runtime.OnMain([&] {
    const std::vector<std::string>& shards = assembly_->config.directory;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (!assembly_->directory->connected(i)) away.push_back(shards[i]);
    }
  });
  return away;
}

std::shared_ptr<store::SharedSegment> Node::segment() { return assembly_->segment; }

Result<int> Node::AttachLocal() {
  int ends[2];
  const std::shared_lock lock(loops_);
  if (stopped_ || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return std::unexpected(
        Error(ErrorCode::kUnavailable, stopped_ ? "the node has stopped" : std::strerror(errno)));
  }
  Result<void> added;
  assembly_->runtime.OnMain([&] {
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
  const MutexLock stopping(stopping_);
  if (stopped_.exchange(true)) return;
  Assembly& assembly = *assembly_;
  assembly.runtime.OnMain([this, &assembly] {
    endpoint_->Stop();
    assembly.Stop(Error(ErrorCode::kUnavailable, "the node is stopping"));
  });
  const bool quiet = assembly.runtime.WaitForTasks(kStopBound);
  assembly.runtime.JoinPool();
  assembly.runtime.OnMain([&assembly] { assembly.directory->Stop(); });
  const std::unique_lock lock(loops_);
  assembly.runtime.StopLoops();
  abandoned_ = !quiet;
  if (!quiet) log::ErrorLine("{}: a task did not end at the node's stop", name());
}

}  // namespace hoplite::node
