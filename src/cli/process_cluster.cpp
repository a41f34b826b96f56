#include "cli/process_cluster.h"

#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "cli/output.h"

namespace hoplite::cli {
namespace {

constexpr Duration kStartPatience = std::chrono::seconds(30);

}  // namespace

Result<ProcessCluster> ProcessCluster::Start(const ProcessClusterOptions& options,
                                             const StopSignal& stop) {
  TRY_ASSIGN(PrivateFolder folder, PrivateFolder::Make());
  std::vector<std::string> arguments{"directory",         "--listen", "127.0.0.1:0",
                                     "--recovery-window", "0",        "--json"};
  if (!options.admin.empty()) arguments.insert(arguments.end(), {"--admin", options.admin});
  TRY_ASSIGN(ChildProcess directory, StartMember(std::move(arguments), options));
  ProcessCluster cluster(options, stop, std::move(folder), std::move(directory));
  TRY_ASSIGN(const Json ready, cluster.WaitUntilReady(cluster.directory_, "the directory"));
  cluster.directory_address_ = ready["address"];
  cluster.admin_address_ = ready.value("admin", "");
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

Result<ChildProcess> ProcessCluster::StartNode(const std::string& name,
                                               const std::string& socket) const {
  std::vector<std::string> arguments{
      "node",     "--directory", directory_address_,
      "--listen", "127.0.0.1:0", "--socket",
      socket,     "--memory",    std::to_string(options_.memory_bytes),
      "--name",   name,          "--json"};
  if (options_.rate_bytes_per_second > 0) {
    arguments.insert(arguments.end(),
                     {"--rate", fmt::format("{}bit", options_.rate_bytes_per_second * 8)});
  }
  return StartMember(std::move(arguments), options_);
}

Result<ChildProcess> ProcessCluster::StartMember(std::vector<std::string> arguments,
                                                 const ProcessClusterOptions& options) {
  const std::string& secret = options.security.secret_file;
  if (!secret.empty()) arguments.insert(arguments.end(), {"--secret-file", secret});
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
    TRY_ASSIGN(ChildProcess process, StartNode(name, socket));
    nodes_.push_back({name, "", socket, std::move(process)});
  }
  for (std::size_t i = before; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    TRY_ASSIGN(const Json ready, WaitUntilReady(node.process, fmt::format("node {}", node.name)));
    node.address = ready["address"];
  }
  return {};
}

}  // namespace hoplite::cli
