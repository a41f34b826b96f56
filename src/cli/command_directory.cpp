// hoplite directory: runs one shard until it is told to stop.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <hoplite/config.h>

#include "admin/admin_server.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/configuration_file.h"
#include "cli/descriptors.h"
#include "cli/metrics_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/service_manager.h"
#include "cli/stop_signal.h"
#include "cli/web_option.h"
#include "directory/directory_server.h"
#include "net/open_door.h"

namespace hoplite::cli {
namespace {

struct DirectoryArguments {
  DirectoryConfig config;
  std::string admin;    // empty: there is no admin service
  std::string metrics;  // empty: nobody scrapes
  WebArguments web;
  pid_t parent = StopSignal::kNobody;
  bool json = false;
};

// By TLS where the members have certificates.
Result<net::SecurityPtr> SecurityOfAdmin(const DirectoryArguments& options,
                                         const directory::DirectoryServer& shard) {
  const SecurityConfig& security = options.config.security;
  if (security.secured() && security.secret_file.empty()) return shard.security();
  TRY(net::RequireNoPlainDoor(
      options.admin, security, "--admin",
      "give --tls-ca, --tls-cert and --tls-key (gRPC knows certificates, no secret), "));
  return net::SecurityPtr();
}

// Null unless it is asked for.
Result<std::unique_ptr<admin::AdminServer>> StartAdmin(const DirectoryArguments& options,
                                                       const directory::DirectoryServer& shard) {
  if (options.admin.empty()) return std::unique_ptr<admin::AdminServer>();
  TRY_ASSIGN(net::SecurityPtr security, SecurityOfAdmin(options, shard));
  const std::string own = options.config.shards.empty() ? shard.address() : options.config.listen;
  return admin::AdminServer::Start({options.admin, options.config.shards, own, std::move(security)},
                                   shard.service());
}

// All shards, where this one may ask the others: its certificate is of a directory, not of a node.
void AddShards(const DirectoryArguments& options, const directory::DirectoryServer& shard,
               web::WebOptions& page) {
  const DirectoryConfig& config = options.config;
  const bool certificates = config.security.secured() && config.security.secret_file.empty();
  if (certificates || config.shards.empty()) {
    page.shards = {{shard.address(), shard.service()}};
    if (config.shards.size() > 1) {
      page.remark = "only this shard is shown: `hoplite top --web` shows all";
    }
    return;
  }
  page.to_shards = shard.security();
  for (const std::string& address : config.shards) {
    // Of a shard with several members another one may hold it.
    const bool own = address == config.listen;
    page.shards.push_back({address, own ? shard.service() : nullptr});
  }
}

Result<std::unique_ptr<web::WebServer>> StartWeb(const DirectoryArguments& options,
                                                 const directory::DirectoryServer& shard) {
  if (options.web.address.empty()) return std::unique_ptr<web::WebServer>();
  TRY_ASSIGN(web::WebOptions page, PageOf(options.web, options.config.security, shard.security()));
  AddShards(options, shard, page);
  return StartPage(std::move(page));
}

Result<void> PrintReady(const std::string& address, const std::string& admin,
                        const std::string& metrics, const web::WebServer* web, bool json) {
  if (!json) {
    const std::string more = admin.empty() ? "" : fmt::format(", its admin service at {}", admin);
    return Print(fmt::format("directory is ready at {}{}{}{}\n", address, more,
                             MetricsInWords(metrics), PageInWords(web)));
  }
  Json event = ReadyEvent("directory", "", address, "");
  if (!admin.empty()) event["admin"] = admin;
  if (!metrics.empty()) event["metrics"] = metrics;
  if (web != nullptr) event["web"] = web->address();
  return Print(event);
}

void Serve(const directory::DirectoryServer& shard, const StopSignal& stop,
           const ServiceManager& manager) {
  while (manager.watches() && !stop.WaitFor(manager.period())) {
    (void)shard.metrics();  // which its loop tells: one that hangs is not alive
    manager.Alive();
  }
  stop.Wait();
}

Result<void> RunDirectory(const DirectoryArguments& options) {
  AllowAllDescriptors();
  const ServiceManager manager;
  StopSignal stop;
  TRY(stop.WatchParent(options.parent));
  TRY_ASSIGN(const auto shard, directory::DirectoryServer::Start(options.config));
  TRY_ASSIGN(auto admin, StartAdmin(options, *shard));
  TRY_ASSIGN(auto metrics, StartMetrics(options.metrics, [&] { return shard->metrics(); }));
  TRY_ASSIGN(auto web, StartWeb(options, *shard));
  TRY(PrintReady(shard->address(), admin ? admin->address() : "", metrics ? metrics->address() : "",
                 web.get(), options.json));
  manager.Ready();
  Serve(*shard, stop, manager);
  manager.Stopping();
  web.reset();
  metrics.reset();
  admin.reset();
  shard->Stop();
  return {};
}

}  // namespace

void AddDirectory(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("directory", "runs one directory shard");
  const auto options = std::make_shared<DirectoryArguments>();
  DirectoryConfig& config = options->config;
  AddConfigurationFile(*command);
  AddAddress(*command, "--listen", config.listen, "where nodes reach it; port 0 picks one")
      ->required();
  AddAddresses(*command, "--shards", config.shards,
               "all shards in order, this one among them; without it there is only this one");
  command->add_option("--cluster", config.cluster, "name of the cluster")->type_name("NAME");
  command
      ->add_option("--state", config.state_file,
                   "keeps who the shard is over restarts; made if there is none")
      ->type_name("FILE");
  AddTime(*command, "--heartbeat", config.heartbeat, "how often nodes give signs of life");
  AddTime(*command, "--lease", config.lease, "the session of a node that gives none ends after it");
  AddTime(*command, "--grace", config.grace, "a node without a session is lost after it");
  AddTime(*command, "--recovery-window", config.recovery_window,
          "how long it only collects what nodes hold; 0 for a cluster known to be new");
  AddTime(*command, "--recovery-limit", config.recovery_limit,
          "the same, while a node still tells what it holds");
  AddTime(*command, "--orphan-grace", config.orphan_grace,
          "how long an object lives whose owners died");
  AddTime(*command, "--tombstone", config.tombstone, "how long a deleted id can't be used again");
  AddSize(*command, "--inline-limit", config.inline_limit_bytes,
          "objects up to this size, 64KiB at most, live in the directory")
      ->default_str(FormatSize(config.inline_limit_bytes));
  AddSize(*command, "--inline-total", config.inline_total_bytes,
          "all of them, and all metadata, together")
      ->default_str(FormatSize(config.inline_total_bytes));
  AddSize(*command, "--session-queue", config.session_queue_bytes,
          "answers that may wait for one node; while there are more, what it says waits")
      ->default_str(FormatSize(config.session_queue_bytes));
  AddAddress(*command, "--admin", options->admin,
             "where programs ask it by gRPC, in plain text; port 0 picks one");
  AddMemberSecurity(*command, config.security);
  AddMetrics(*command, options->metrics);
  AddWeb(*command, options->web);
  AddExitWithParent(*command, options->parent);
  AddJson(*command, options->json);
  command->callback([&chosen, options, command] {
    RequireSound(*command, options->config.Validate());
    chosen = [options] { return RunDirectory(*options); };
  });
}

}  // namespace hoplite::cli
