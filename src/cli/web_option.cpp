#include "cli/web_option.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "cli/options.h"
#include "cli/web/page_token.h"
#include "net/open_door.h"

namespace hoplite::cli {
namespace {

Result<std::string> ParseWebAddress(const std::string& text) {
  const bool port = text.find(':') == std::string::npos;
  std::string address = port ? "127.0.0.1:" + text : text;
  TRY(ParseHostPort(address));
  return address;
}

}  // namespace

CLI::Option* AddWeb(CLI::App& command, std::string& address) {
  return AddParsed(command, "--web", address, ParseWebAddress,
                   "where a browser shows what the directory knows; port 0 picks one")
      ->type_name("[HOST:]PORT");
}

void AddWeb(CLI::App& command, WebArguments& web) {
  CLI::Option* page = AddWeb(command, web.address);
  command
      .add_option("--web-token", web.token_file,
                  "a file with the token that the page asks for, of 16 letters and digits or more")
      ->type_name("FILE")
      ->needs(page);
}

Result<web::WebOptions> PageOf(const WebArguments& web, const SecurityConfig& config,
                               const net::SecurityPtr& own) {
  web::WebOptions page;
  page.listen = web.address;
  if (!web.token_file.empty()) {
    TRY_ASSIGN(page.token, web::ReadToken(web.token_file, config.readable_secrets));
  }
  const bool certificates = config.secured() && config.secret_file.empty();
  TRY_ASSIGN(const bool others, net::OthersReach(web.address));
  if (others && certificates) {
    page.security = own;
  } else if (page.token.empty()) {
    TRY(net::RequireNoPlainDoor(web.address, config, "--web",
                                "give --tls-ca, --tls-cert and --tls-key, or --web-token, "));
  }
  return page;
}

Result<std::unique_ptr<web::WebServer>> StartPage(web::WebOptions page) {
  auto server = web::WebServer::Start(std::move(page));
  if (server) return server;
  return std::unexpected(Error(server.error().code, "--web: " + server.error().message));
}

std::string PageInWords(const web::WebServer* page) {
  return page == nullptr ? "" : PageInWords(page->address(), page->secure());
}

std::string PageInWords(const std::string& address, bool secure) {
  if (address.empty()) return "";
  return fmt::format(", its page is at {}://{}/", secure ? "https" : "http", address);
}

}  // namespace hoplite::cli
