#include "net/open_door.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "base/try.h"
#include "net/resolve.h"

namespace hoplite::net {

Result<bool> OthersReach(const std::string& listen) {
  TRY_ASSIGN(const HostPort address, ParseHostPort(listen));
  TRY_ASSIGN(const Endpoints endpoints, ResolveNow(address));
  return !std::ranges::all_of(
      endpoints, [](const auto& endpoint) { return endpoint.address().is_loopback(); });
}

Result<void> RequireNoOpenDoor(const std::string& listen, const SecurityConfig& security) {
  if (security.secured() || security.insecure) return {};
  TRY_ASSIGN(const bool open, OthersReach(listen));
  if (!open) return {};
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format(
                "other hosts reach {}, and nothing keeps strangers out: give --tls-ca, --tls-cert "
                "and --tls-key (`hoplite certs` makes them), or --secret-file, or --insecure in a "
                "network that you trust",
                listen)));
}

Result<void> RequireNoPlainDoor(const std::string& listen, const SecurityConfig& security,
                                const std::string& what, const std::string& remedy) {
  if (security.insecure) return {};
  TRY_ASSIGN(const bool open, OthersReach(listen));
  if (!open) return {};
  return std::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format("other hosts reach {} of {}, which is plain text for everybody: {}let it "
                        "listen on 127.0.0.1, or give --insecure in a network that you trust",
                        listen, what, remedy)));
}

}  // namespace hoplite::net
