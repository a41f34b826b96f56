#include "cli/web/own_host.h"

#include <cstddef>
#include <string_view>

#include <asio/ip/address.hpp>

#include "base/text.h"
#include "metrics/http.h"

namespace hoplite::cli::web {
namespace {

constexpr std::string_view kLoopback = "localhost";

bool IsLoopbackName(std::string_view name) {
  if (metrics::SameName(name, kLoopback)) return true;
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && metrics::SameName(name.substr(dot + 1), kLoopback);
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
  const std::string name = WithoutPort(host);
  const auto own = ParseHostPort(listen);
  return IsLoopbackName(name) || IsAddress(name) || (own && metrics::SameName(name, own->host));
}

}  // namespace hoplite::cli::web
