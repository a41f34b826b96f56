#include "cli/web_option.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "cli/options.h"

namespace hoplite::cli {
namespace {

Result<std::string> ParseWebAddress(const std::string& text) {
  const bool port = text.find(':') == std::string::npos;
  std::string address = port ? "127.0.0.1:" + text : text;
  TRY(ParseHostPort(address));
  return address;
}

}  // namespace

void AddWeb(CLI::App& command, std::string& address) {
  AddParsed(command, "--web", address, ParseWebAddress,
            "where a browser shows what the directory knows, without a password; port 0 picks one")
      ->type_name("[HOST:]PORT");
}

std::string PageInWords(const std::string& address) {
  return address.empty() ? "" : fmt::format(", its page is at http://{}/", address);
}

}  // namespace hoplite::cli
