// hoplite status: nodes, objects and transfers, as a node or the directory itself sees them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <hoplite/client.h>

#include "base/clock.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/directory_status.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/timeouts.h"
#include "client/client_access.h"
#include "net/security.h"

namespace hoplite::cli {
namespace {

// As many objects as a person reads.
constexpr std::uint64_t kListed = 100;

// Without --timeout, for a shard that is not the only one: as `hoplite top` does.
constexpr std::chrono::seconds kShardPatience{2};

struct StatusArguments {
  std::vector<std::string> directory;
  std::optional<std::string> cluster;
  SecurityConfig security;
  NodeSocket socket;
  Duration timeout = kAnswerTimeout;
  bool patient = false;  // waits for each shard as long as the timeout allows
  bool watch = false;
  bool json = false;
  bool all = false;

  std::uint64_t max_objects() const { return json || all ? kAllObjects : kListed; }
};

Result<ClusterStatus> Look(const StatusArguments& options) {
  if (!options.directory.empty()) {
    TRY_ASSIGN(const net::SecurityPtr security,
               net::Security::Load(options.security, net::TlsRole::kNode, options.cluster));
    const bool brief = !options.patient && options.directory.size() > 1;
    return StatusOfDirectory(options.directory, security, brief ? kShardPatience : options.timeout,
                             options.max_objects());
  }
  const Deadline deadline(options.timeout);
  TRY_ASSIGN(Client client, Attach(options.socket, deadline));
  return ClientAccess::Status(client, deadline.left(), options.max_objects(),
                              options.patient ? Duration::max() : kShardPatience);
}

// How fast transfers are is known by the second look at them.
constexpr std::chrono::milliseconds kBetweenLooks{300};

Result<ClusterStatus> LookAt(const StatusArguments& options, TransferRates& rates) {
  TRY_ASSIGN(ClusterStatus status, Look(options));
  rates.Look(status, Now());
  return status;
}

Result<void> Show(const StatusArguments& options, ClusterStatus status,
                  const TransferRates& rates) {
  std::ranges::sort(status.nodes, {}, &NodeStatus::name);
  if (options.json) return Print(ToJson(status, rates));
  // A watcher on a terminal sees one changing picture, elsewhere one picture after the other.
  const bool in_place = options.watch && ::isatty(STDOUT_FILENO) == 1;
  if (in_place) TRY(PrintAsIs("\x1b[H\x1b[J"));
  return Print(ToText(status, rates));
}

Result<void> PrintOnce(const StatusArguments& options) {
  TransferRates rates;
  TRY_ASSIGN(ClusterStatus status, LookAt(options, rates));
  if (rates.lacks_some()) {
    std::this_thread::sleep_for(kBetweenLooks);
    TRY_ASSIGN(status, LookAt(options, rates));
  }
  return Show(options, std::move(status), rates);
}

Result<void> Watch(const StatusArguments& options) {
  const StopSignal stop;
  TransferRates rates;
  do {
    TRY_ASSIGN(ClusterStatus status, LookAt(options, rates));
    TRY(Show(options, std::move(status), rates));
  } while (!stop.WaitFor(std::chrono::seconds(1)));
  return {};
}

}  // namespace

void AddStatus(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("status", "shows nodes, objects and transfers");
  const auto options = std::make_shared<StatusArguments>();
  AddAddresses(*command, "--directory", options->directory,
               "ask all shards themselves, without a node");
  AddCluster(*command, options->cluster);
  AddSecurity(*command, options->security);
  CLI::Option* timeout = AddAnswerTimeout(*command, options->timeout);
  timeout->default_str("30s; 2s for one of several shards");
  AddSocket(*command, options->socket);
  command->add_flag("--watch", options->watch, "every second, until Ctrl-C");
  command->add_flag("--all", options->all,
                    fmt::format("list every object, not the first {} only; --json does", kListed));
  AddJson(*command, options->json);
  command->callback([&chosen, options, command, timeout] {
    RequireSound(*command, options->security.Validate());
    options->patient = timeout->count() > 0;
    chosen = [options] { return options->watch ? Watch(*options) : PrintOnce(*options); };
  });
}

}  // namespace hoplite::cli
