// hoplite up: a directory and some nodes as child processes, until it is told to stop.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log_output.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/metrics_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process_cluster.h"
#include "cli/stop_signal.h"
#include "cli/web_option.h"

namespace hoplite::cli {
namespace {

struct UpArguments {
  std::uint32_t nodes = 0;
  ProcessClusterOptions cluster;
  bool json = false;
};

Result<void> PrintReadyLines(ProcessCluster& cluster, bool json) {
  if (json) {
    Json directory = ReadyEvent("directory", "", cluster.directory_address(), "");
    const auto add = [](Json& event, const char* name, const std::string& address) {
      if (!address.empty()) event[name] = address;
    };
    add(directory, "admin", cluster.admin_address());
    add(directory, "metrics", cluster.metrics_address());
    add(directory, "web", cluster.web_address());
    directory["pid"] = cluster.directory().pid();
    TRY(Print(directory));
    for (const auto& node : cluster.nodes()) {
      Json ready = ReadyEvent("node", node.name, node.address, node.socket);
      add(ready, "metrics", node.metrics);
      ready["pid"] = node.process.pid();
      TRY(Print(ready));
    }
    return {};
  }
  const std::string& admin = cluster.admin_address();
  std::string text = fmt::format(
      "directory (pid {}) is ready at {}{}{}{}{}\n", cluster.directory().pid(),
      cluster.directory_address(), admin.empty() ? "" : ", its admin service at ", admin,
      MetricsInWords(cluster.metrics_address()), PageInWords(cluster.web_address()));
  for (const auto& node : cluster.nodes()) {
    text +=
        fmt::format("node {} (pid {}) is ready at {}, workers attach at {}{}\n", node.name,
                    node.process.pid(), node.address, node.socket, MetricsInWords(node.metrics));
  }
  return Print(text + fmt::format("use one: export HOPLITE_SOCKET={}   end all: Ctrl-C\n",
                                  cluster.nodes().front().socket));
}

void Report(const std::string& who, ChildProcess& process) {
  // Whoever stops reading must not stop this process from ending the others.
  log::LogOutput(STDERR_FILENO).Write(fmt::format("{} {}\n", who, process.Reap()));
}

// Sleeps until the command is to stop; says so when a child ends before that.
void Watch(ProcessCluster& cluster, const StopSignal& stop) {
  std::vector<pollfd> watched{{stop.fd(), POLLIN, 0}, {cluster.directory().exit_fd(), POLLIN, 0}};
  for (const auto& node : cluster.nodes()) watched.push_back({node.process.exit_fd(), POLLIN, 0});
  for (;;) {
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[0].revents != 0) return;
    for (std::size_t i = 1; i < watched.size(); ++i) {
      if (watched[i].revents == 0) continue;
      watched[i].fd = -1;  // poll() passes over it
      watched[i].revents = 0;
      if (i == 1) {
        Report("the directory", cluster.directory());
      } else {
        auto& node = cluster.nodes()[i - 2];
        Report(fmt::format("node {}", node.name), node.process);
      }
    }
  }
}

Result<void> RunUp(const UpArguments& options) {
  TRY(RequireDescriptors(ProcessCluster::DescriptorsFor(options.nodes), "a cluster"));
  const StopSignal stop;
  ProcessClusterOptions members = options.cluster;
  members.spill_nodes = options.nodes;
  TRY_ASSIGN(ProcessCluster cluster, ProcessCluster::Start(members, stop));
  std::vector<std::string> names;
  for (std::uint32_t i = 1; i <= options.nodes; ++i) names.push_back(fmt::format("n{}", i));
  TRY(cluster.AddNodes(names));
  TRY(PrintReadyLines(cluster, options.json));
  Watch(cluster, stop);
  return {};
}

}  // namespace

void AddUp(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("up", "a cluster of processes on this machine");
  const auto options = std::make_shared<UpArguments>();
  command->add_option("--nodes", options->nodes, "how many")
      ->type_name("N")
      ->required()
      ->check(CLI::Range(1, 1000));
  AddSize(*command, "--memory", options->cluster.memory_bytes, "of each node")->required();
  command
      ->add_option("--spill", options->cluster.spill_folder,
                   "folder on a disk where put objects lie when memory is wanted")
      ->type_name("DIR");
  AddSize(*command, "--spill-limit", options->cluster.spill_limit_bytes,
          "how much of that disk each node may use; all of them together no more than it has");
  AddAddress(*command, "--admin", options->cluster.admin,
             "where programs ask the directory by gRPC, in plain text; port 0 picks one");
  AddWeb(*command, options->cluster.web);
  AddAddress(*command, "--metrics", options->cluster.metrics,
             "where Prometheus scrapes the directory; the nodes have the ports after it; with port "
             "0 each picks one");
  command->add_option("--cluster", options->cluster.cluster, "name of the cluster")
      ->type_name("NAME");
  CLI::Option* secret = AddSecretFile(*command, options->cluster.secret_file);
  command
      ->add_option("--certs", options->cluster.certs,
                   "the folder of `hoplite certs`: its certificates for the members")
      ->type_name("DIR")
      ->excludes(secret);
  AddReadableSecrets(*command, options->cluster.readable_secrets);
  AddJson(*command, options->json);
  command->callback([&chosen, options] { chosen = [options] { return RunUp(*options); }; });
}

}  // namespace hoplite::cli
