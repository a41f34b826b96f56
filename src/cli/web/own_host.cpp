#include "cli/web/own_host.h"

#include <algorithm>

#include <asio/ip/address.hpp>

#include "base/text.h"

namespace hoplite::cli::web {
namespace {

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

// "[::1]:80" is ::1, "name:80" is name, "name" is itself.
std::string WithoutPort(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool IsAddress(const std::string& host) {
  asio::error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

}  // namespace

bool IsOwnHost(const std::string& host, const std::string& listen) {
  if (host.empty()) return true;
  const std::string name = Lower(WithoutPort(host));
  const auto own = ParseHostPort(listen);
  return name == "localhost" || name.ends_with(".localhost") || IsAddress(name) ||
         (own && name == Lower(own->host));
}

}  // namespace hoplite::cli::web
