// --web [HOST:]PORT of a command: where its page is; --web-token FILE: what that asks for.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include <hoplite/config.h>
#include <hoplite/result.h>

#include "cli/web/web_server.h"
#include "net/security.h"

namespace hoplite::cli {

struct WebArguments {
  std::string address;     // empty: there is no page
  std::string token_file;  // empty: the page asks for no token
};

// A port alone is one of this machine only.
CLI::Option* AddWeb(CLI::App& command, std::string& address);
void AddWeb(CLI::App& command, WebArguments& web);

// How the page is served: `own` is this process's security. The shards are still to be named.
//   invalid_argument  strangers would reach it, or the token's file is none
Result<web::WebOptions> PageOf(const WebArguments& web, const SecurityConfig& config,
                               const net::SecurityPtr& own);
// An error names the option.
Result<std::unique_ptr<web::WebServer>> StartPage(web::WebOptions page);

// For the end of a ready line; empty if there is none.
std::string PageInWords(const web::WebServer* page);
std::string PageInWords(const std::string& address, bool secure = false);

}  // namespace hoplite::cli
