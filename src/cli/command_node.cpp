// hoplite node: runs one member of the cluster until it is told to stop.
#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>

#include <hoplite/client.h>
#include <hoplite/node.h>

#include "base/exhaustion.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/configuration_file.h"
#include "cli/descriptors.h"
#include "cli/metrics_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/service_manager.h"
#include "cli/stop_signal.h"
#include "client/node_access.h"

namespace hoplite::cli {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(500);
constexpr Duration kNotThen = Duration::max();

struct NodeArguments {
  NodeConfig config;
  pid_t parent = StopSignal::kNobody;
  Duration exit_when_idle = kNotThen;
  Duration drain{0};
  std::string metrics;  // empty: nobody scrapes
  bool json = false;
};

bool IsIdle(const Node& node, const NodeArguments& options) {
  return options.exit_when_idle != kNotThen && node.idle() >= options.exit_when_idle;
}

// It may have started before its directory. Then it says so: a wrong address looks like that, too.
Result<void> PrintReadyLine(const Node& node, const std::string& metrics, bool json) {
  const std::vector<std::string> away = node.away();
  if (json) {
    Json event = ReadyEvent("node", node.name(), node.address(), node.socket());
    event["away"] = away;
    if (!metrics.empty()) event["metrics"] = metrics;
    return Print(event);
  }
  const std::string but =
      away.empty() ? ""
                   : fmt::format("; it has not reached the directory at {} and goes on trying",
                                 fmt::join(away, ", "));
  return Print(fmt::format("node {} is ready at {}, workers attach at {}{}{}\n", node.name(),
                           node.address(), node.socket(), MetricsInWords(metrics), but));
}

// A thread of its own hears the signal while the node starts.
Result<std::unique_ptr<Node>> StartNode(const NodeConfig& config, const StopSignal& signal) {
  const FileDescriptor started(::eventfd(0, EFD_CLOEXEC));
  if (started.get() < 0) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted, "no descriptor is left: the process may open more"));
  }
  std::stop_source stop;
  TRY_ASSIGN(std::thread listener, StartThread([&] {
               if (signal.WaitUnless(started.get())) stop.request_stop();
             }));
  auto node = Node::Start(config, stop.get_token());
  ::eventfd_write(started.get(), 1);
  listener.join();
  return node;
}

Result<void> PrintDrained(const Node& node, const DrainOutcome& outcome, bool json) {
  if (json) {
    return Print(Json{{"event", "drained"},
                      {"name", node.name()},
                      {"handed_on", outcome.handed_on},
                      {"left", outcome.left_count}});
  }
  return Print(fmt::format("node {} has handed {} objects on, {} are left\n", node.name(),
                           outcome.handed_on, outcome.left_count));
}

// Hands the node's objects on; another signal ends that at once, with whatever is left.
Result<ExitStatus> DrainNode(Node& node, const NodeArguments& options, StopSignal& signal) {
  signal.Forget();
  const FileDescriptor ended(::eventfd(0, EFD_CLOEXEC));
  if (ended.get() < 0) {
    return std::unexpected(Error(ErrorCode::kResourceExhausted,
                                 "no descriptor is left: the node stops without handing on"));
  }
  Result<DrainOutcome> outcome = DrainOutcome{};
  TRY_ASSIGN(std::thread drains, StartThread([&] {
               const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(options.drain);
               outcome = node.client().Drain(timeout);
               ::eventfd_write(ended.get(), 1);
             }));
  const bool hurries = signal.WaitUnless(ended.get());
  if (hurries) node.Stop();
  drains.join();
  if (hurries) return ExitStatus::kLeft;
  TRY(outcome);
  TRY(PrintDrained(node, *outcome, options.json));
  return outcome->left_count == 0 ? ExitStatus::kDone : ExitStatus::kLeft;
}

// Until it is told to stop or has nobody to serve. An error: the directory refuses it.
Result<void> Serve(const Node& node, const NodeArguments& options, const StopSignal& stop,
                   const ServiceManager& manager) {
  const Duration every = std::min(kLookEvery, manager.period());
  while (!IsIdle(node, options) && !stop.WaitFor(every)) {
    if (const std::optional<Error> refusal = node.refusal()) return std::unexpected(*refusal);
    if (!manager.watches()) continue;
    (void)node.idle();  // which the node's main loop tells: one that hangs is not alive
    manager.Alive();
  }
  return {};
}

Result<ExitStatus> RunNode(const NodeArguments& options) {
  AllowAllDescriptors();
  const ServiceManager manager;
  StopSignal stop;
  TRY(stop.WatchParent(options.parent));
  auto started = StartNode(options.config, stop);
  if (!started && started.error().code == ErrorCode::kCancelled) return ExitStatus::kDone;
  TRY_ASSIGN(const auto node, std::move(started));
  log::SetPrefix(node->name());
  TRY_ASSIGN(auto metrics,
             StartMetrics(options.metrics, [&] { return NodeAccess::MetricsOf(*node); }));
  TRY(PrintReadyLine(*node, metrics ? metrics->address() : "", options.json));
  manager.Ready();
  const Result<void> served = Serve(*node, options, stop, manager);
  manager.Stopping();
  Result<ExitStatus> ended = served.transform([] { return ExitStatus::kDone; });
  if (served && options.drain > Duration(0)) ended = DrainNode(*node, options, stop);
  metrics.reset();
  node->Stop();
  return ended;
}

}  // namespace

void AddNode(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("node", "runs a node; workers attach at its socket");
  const auto options = std::make_shared<NodeArguments>();
  NodeConfig& config = options->config;
  AddConfigurationFile(*command);
  AddAddresses(*command, "--directory", config.directory, "all directory shards in order")
      ->required();
  AddAddress(*command, "--listen", config.listen, "where peers reach it; port 0 picks one")
      ->default_str(config.listen);
  command->add_option("--advertise", config.advertise, "what peers are told instead of that host")
      ->type_name("HOST");
  AddSocket(*command, config.socket);
  command
      ->add_option("--socket-group", config.socket_group,
                   "group whose members may use the socket, as the node's user may")
      ->type_name("GROUP");
  AddSize(*command, "--memory", config.memory_bytes, "shared memory for objects, as 64MiB or 4GiB")
      ->required();
  command
      ->add_option("--spill", config.spill_folder,
                   "folder on a disk where put objects lie when memory is wanted")
      ->type_name("DIR");
  AddSize(*command, "--spill-limit", config.spill_limit_bytes,
          "how much of that disk this node may use, as 100GiB");
  command->add_option("--spill-nodes", config.spill_nodes, "how many nodes may use so much of it")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--name", config.name, "unique in the cluster")->type_name("NAME");
  AddRate(*command, "--rate", config.rate_bytes_per_second,
          "limit of its transfers in each direction, as 100mbit");
  command->add_option("--cluster", config.cluster, "name of the cluster")->type_name("NAME");
  command
      ->add_option("--site", config.site,
                   "where the host stands: of each object one stream enters a site, of each sum "
                   "one leaves it")
      ->type_name("ZONE/RACK");
  AddRate(*command, "--link-rate", config.link_bytes_per_second,
          "that the host's link carries in each direction, if it is known");
  AddTime(*command, "--stall", config.stall,
          "a peer that owes bytes or signs of life for so long is given up");
  AddTime(*command, "--keepalive", config.keepalive, "how often it gives signs of life itself");
  command->add_option("--data-threads", config.data_threads, "threads that move bytes")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--client-requests", config.requests_per_client,
                   "requests that one client may have under way")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--client-pins", config.pins_per_client,
                   "buffers, readers, drafts and subscriptions that one client may hold")
      ->type_name("N")
      ->capture_default_str();
  AddSize(*command, "--quota", config.quota_bytes,
          "memory that one process may hold by what it puts and reads, as 1GiB");
  command
      ->add_option("--quota-objects", config.quota_objects,
                   "objects that one process may hold by putting and reading them")
      ->type_name("N");
  command->add_option("--max-owned", config.max_owned, "ids that all its clients may own together")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--max-fetches", config.max_fetches,
                   "objects that come in at a time, the others wait in order")
      ->type_name("N")
      ->capture_default_str();
  AddMemberSecurity(*command, config.security);
  AddMetrics(*command, options->metrics);
  AddExitWithParent(*command, options->parent);
  AddDuration(*command, "--exit-when-idle", options->exit_when_idle,
              "end when no client has been attached for so long, as 10s");
  AddDuration(*command, "--drain", options->drain,
              "hand on what only this node has before it ends, for so long at most, as 30s");
  AddJson(*command, options->json);
  command->callback([&chosen, options, command] {
    RequireSound(*command, options->config.Validate());
    if (options->exit_when_idle <= Duration(0)) {
      throw CLI::ValidationError("--exit-when-idle", "must be longer than 0: nobody could attach");
    }
    chosen = [options] { return RunNode(*options); };
  });
}

}  // namespace hoplite::cli
