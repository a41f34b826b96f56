// hoplite top: one screen of what all nodes do and which objects are under way.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/timeouts.h"
#include "cli/top/json.h"
#include "cli/top/paint.h"
#include "cli/top/terminal.h"
#include "cli/top/top.h"
#include "cli/top/watches.h"
#include "cli/web_option.h"
#include "client/client_access.h"
#include "net/security.h"

namespace hoplite::cli {
namespace {

// The others are shown meanwhile.
constexpr std::chrono::seconds kTopTimeout(2);

struct TopArguments {
  NodeSocket socket;  // of a node that knows the shards, unless they are given
  ObjectId id;        // all zero: every object
  std::optional<std::string> cluster;
  SecurityConfig security;
  top::TopOptions top{.timeout = kTopTimeout};
  WebArguments web;
  bool once = false;
  bool json = false;
};

Result<void> PrintOnce(const TopArguments& options) {
  TRY_ASSIGN(const top::Picture picture, top::LookOnce(options.top));
  if (options.json) return Print(ToJson(picture));
  std::string text;
  for (const top::Line& line : top::Paint(picture, options.top.view, {})) text += line.text + '\n';
  return Print(text);
}

Result<std::vector<std::string>> DirectoryOfNode(const NodeSocket& socket, Duration timeout) {
  TRY_ASSIGN(const Client client, Attach(socket, Deadline(timeout)));
  return ClientAccess::DirectoryOf(client);
}

Result<void> ServePage(const TopArguments& options) {
  const StopSignal stop;
  TRY_ASSIGN(web::WebOptions page, PageOf(options.web, options.security, options.top.security));
  page.shards = top::PlacesOf(options.top.shards);
  page.to_shards = options.top.security;
  TRY_ASSIGN(const auto server, StartPage(std::move(page)));
  TRY(options.json ? Print(ReadyEvent("page", "", server->address(), ""))
                   : Print(fmt::format("top is ready{}\n", PageInWords(server.get()))));
  stop.Wait();
  return {};
}

Result<void> RunTop(TopArguments& options) {
  if (options.top.shards.empty()) {
    TRY_ASSIGN(options.top.shards, DirectoryOfNode(options.socket, options.top.timeout));
  }
  TRY_ASSIGN(options.top.security,
             net::Security::Load(options.security, net::TlsRole::kNode, options.cluster));
  if (!options.web.address.empty()) return ServePage(options);
  const bool live = !options.once && !options.json && top::Terminal::there();
  return live ? top::ShowLive(options.top) : PrintOnce(options);
}

}  // namespace

void AddTop(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "top", "shows what all nodes do and which objects are under way, every second");
  const auto options = std::make_shared<TopArguments>();
  AddId(*command, "id", options->id, "follow this object: 40 hexadecimal digits, or name:TEXT");
  CLI::Option* socket = AddSocket(*command, options->socket);
  socket->description("of a node, which tells its directory");
  AddAddresses(*command, "--directory", options->top.shards,
               "all directory shards in order, instead of asking a node");
  command->add_flag("--once", options->once,
                    "print it once, as lines, after some two seconds; so without a terminal");
  AddParsed(*command, "--sort", options->top.view.sort, top::ParseColumn,
            "nodes by name, in, out, memory, fetches or waits")
      ->type_name("COLUMN")
      ->default_str("name");
  AddWeb(*command, options->web);
  AddCluster(*command, options->cluster);
  AddSecurity(*command, options->security);
  AddAnswerTimeout(*command, options->top.timeout)->default_str("2s");
  AddJson(*command, options->json);
  command->callback([&chosen, options, command] {
    RequireSound(*command, options->security.Validate());
    if (options->id != ObjectId()) options->top.view.followed = options->id;
    chosen = [options] { return RunTop(*options); };
  });
}

}  // namespace hoplite::cli
