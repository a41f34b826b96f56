#include "cli/web/page_token.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "net/same_secret.h"
#include "net/tls_files.h"

namespace hoplite::cli::web {
namespace {

constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLongestToken = 256;

std::string_view WithoutSpaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// What stands behind `name=` in a list; empty: there is no such part.
std::string_view PartOf(std::string_view list, char separator, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = list.find(separator);
    const std::string_view part = WithoutSpaces(list.substr(0, end));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return {};
}

bool IsOfToken(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '-' || byte == '_';
}

}  // namespace

PageToken::PageToken(std::string token, const std::string& address)
    : token_(std::move(token)), cookie_("hoplite_page_" + address.substr(address.rfind(':') + 1)) {}

bool PageToken::ShownBy(const metrics::Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view told = PartOf(request.cookie, ';', cookie_);
  if (told.empty() && request.authorization.starts_with(kBearer)) {
    told = std::string_view(request.authorization).substr(kBearer.size());
  }
  return net::SameSecret(told, token_);
}

bool PageToken::BroughtBy(const metrics::Request& request) const {
  return net::SameSecret(PartOf(request.query, '&', "token"), token_);
}

std::string PageToken::CookieLine(bool secure) const {
  return fmt::format("Set-Cookie: {}={}; Path=/; HttpOnly; SameSite=Strict{}\r\n", cookie_, token_,
                     secure ? "; Secure" : "");
}

Result<std::string> ReadToken(const std::string& path, bool readable) {
  TRY_ASSIGN(const std::string content,
             net::ReadSmallFile(path, "token", net::OfSecrets(readable)));
  std::string token(WithoutSpaces(content));
  const bool good = token.size() >= kShortestToken && token.size() <= kLongestToken &&
                    std::ranges::all_of(token, IsOfToken);
  if (good) return token;
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format("token {}: holds no line of {} to {} letters, digits, '-' and '_'; make "
                        "one: openssl rand -hex 16",
                        path, kShortestToken, kLongestToken)));
}

}  // namespace hoplite::cli::web
