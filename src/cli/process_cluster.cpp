#include "cli/process_cluster.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "cli/output.h"

namespace hoplite::cli {
namespace {

constexpr Duration kStartPatience = std::chrono::seconds(30);

// "127.0.0.1:9103" of the third node beside a directory at port 9100.
Result<std::string> MetricsOf(const std::string& first, std::size_t index) {
  TRY_ASSIGN(HostPort address, ParseHostPort(first));
  if (address.port == 0) return first;
  constexpr std::size_t kLast = std::numeric_limits<std::uint16_t>::max();
  if (index > kLast - address.port) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("--metrics: node {} would have port {}, and the last port is {}", index,
                          address.port + index, kLast)));
  }
  address.port = static_cast<std::uint16_t>(address.port + index);
  return address.ToString();
}

// The options of a member in this folder of `hoplite certs`.
std::vector<std::string> CertificatesOf(const std::string& folder, const char* role) {
  const auto in = [&folder](const std::string& name) {
    return (std::filesystem::path(folder) / name).string();
  };
  return {"--tls-ca",   in("ca.pem"),
          "--tls-cert", in(fmt::format("{}.pem", role)),
          "--tls-key",  in(fmt::format("{}.key", role))};
}

}  // namespace

Result<ProcessCluster> ProcessCluster::Start(const ProcessClusterOptions& options,
                                             const StopSignal& stop) {
  TRY_ASSIGN(PrivateFolder folder, PrivateFolder::Make());
  std::vector<std::string> arguments{"directory",         "--listen", "127.0.0.1:0",
                                     "--recovery-window", "0",        "--json"};
  if (!options.admin.empty()) arguments.insert(arguments.end(), {"--admin", options.admin});
  if (!options.web.empty()) arguments.insert(arguments.end(), {"--web", options.web});
  TRY_ASSIGN(ChildProcess directory, StartMember(std::move(arguments), 0, options));
  ProcessCluster cluster(options, stop, std::move(folder), std::move(directory));
  TRY_ASSIGN(const Json ready, cluster.WaitUntilReady(cluster.directory_, "the directory"));
  cluster.directory_address_ = ready["address"];
  cluster.admin_address_ = ready.value("admin", "");
  cluster.web_address_ = ready.value("web", "");
  cluster.metrics_address_ = ready.value("metrics", "");
  return cluster;
}

ProcessCluster::ProcessCluster(const ProcessClusterOptions& options, const StopSignal& stop,
                               PrivateFolder folder, ChildProcess directory)
    : options_(options),
      stop_(&stop),
      folder_(std::move(folder)),
      directory_(std::move(directory)) {}

ProcessCluster::~ProcessCluster() {
  for (Node& node : nodes_) node.process.AskToStop();
  for (Node& node : nodes_) node.process.Stop();
}

Result<ChildProcess> ProcessCluster::StartNode(const std::string& name, const std::string& socket,
                                               std::size_t index) const {
  std::vector<std::string> arguments{
      "node",     "--directory", directory_address_,
      "--listen", "127.0.0.1:0", "--socket",
      socket,     "--memory",    std::to_string(options_.memory_bytes),
      "--name",   name,          "--json"};
  if (options_.rate_bytes_per_second > 0) {
    arguments.insert(arguments.end(),
                     {"--rate", fmt::format("{}bit", options_.rate_bytes_per_second * 8)});
  }
  if (!options_.spill_folder.empty()) {
    arguments.insert(arguments.end(), {"--spill", options_.spill_folder});
  }
  if (options_.spill_limit_bytes > 0) {
    arguments.insert(arguments.end(),
                     {"--spill-limit", std::to_string(options_.spill_limit_bytes)});
    arguments.insert(arguments.end(), {"--spill-nodes", std::to_string(options_.spill_nodes)});
  }
  return StartMember(std::move(arguments), index, options_);
}

Result<ChildProcess> ProcessCluster::StartMember(std::vector<std::string> arguments,
                                                 std::size_t index,
                                                 const ProcessClusterOptions& options) {
  const auto add = [&arguments](const std::vector<std::string>& words) {
    arguments.insert(arguments.end(), words.begin(), words.end());
  };
  if (!options.cluster.empty()) add({"--cluster", options.cluster});
  if (!options.secret_file.empty()) add({"--secret-file", options.secret_file});
  if (options.readable_secrets) add({"--readable-secrets"});
  if (!options.certs.empty()) {
    add(CertificatesOf(options.certs, index == 0 ? "directory" : "node"));
  }
  if (!options.metrics.empty()) {
    TRY_ASSIGN(const std::string address, MetricsOf(options.metrics, index));
    add({"--metrics", address});
  }
  return ChildProcess::StartSelf(std::move(arguments));
}

Result<Json> ProcessCluster::WaitUntilReady(ChildProcess& process, const std::string& who) const {
  const auto line = process.ReadLine(kStartPatience, *stop_);
  if (!line) {
    return std::unexpected(Error(
        line.error().code, fmt::format("{} did not become ready: {}", who, line.error().message)));
  }
  Json event = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
  if (event.is_object() && event.contains("error")) {
    const Json& error = event["error"];
    return std::unexpected(
        Error(ErrorCode::kUnavailable,
              fmt::format("{} did not become ready: {}: {}", who, error.value("code", "internal"),
                          error.value("message", *line))));
  }
  if (!event.is_object() || !event.contains("address") || !event["address"].is_string()) {
    return std::unexpected(
        Error(ErrorCode::kInternal, fmt::format("{} printed no ready line: {}", who, *line)));
  }
  return event;
}

Result<void> ProcessCluster::AddNodes(const std::vector<std::string>& names) {
  const std::size_t before = nodes_.size();
  for (const std::string& name : names) {
    const std::string socket = folder_.path() / (name + ".sock");
    TRY_ASSIGN(ChildProcess process, StartNode(name, socket, nodes_.size() + 1));
    nodes_.push_back({name, "", socket, "", std::move(process)});
  }
  for (std::size_t i = before; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    TRY_ASSIGN(const Json ready, WaitUntilReady(node.process, fmt::format("node {}", node.name)));
    node.address = ready["address"];
    node.metrics = ready.value("metrics", "");
  }
  return {};
}

}  // namespace hoplite::cli
