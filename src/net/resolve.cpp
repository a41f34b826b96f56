#include "net/resolve.h"

#include <algorithm>
#include <memory>
#include <string>

#include <asio/this_coro.hpp>
#include <fmt/format.h>

#include "net/signal.h"

namespace hoplite::net {
namespace {

using Tcp = asio::ip::tcp;
using Resolver = asio::ip::basic_resolver<Tcp, asio::io_context::executor_type>;

Endpoints Numeric(const HostPort& target) {
  asio::error_code ec;
  const auto address = asio::ip::make_address(target.host, ec);
  if (ec) return {};
  return {Tcp::endpoint(address, target.port)};
}

std::unexpected<Error> Unknown(const HostPort& target, const std::string& why) {
  return std::unexpected(
      Error(ErrorCode::kUnavailable, fmt::format("cannot resolve {}: {}", target.ToString(), why)));
}

Result<Endpoints> Conclude(const HostPort& target, const asio::error_code& ec,
                           const Resolver::results_type& found) {
  if (ec) return Unknown(target, ec.message());
  return Endpoints(found.begin(), found.end());
}

// Shared with the resolver's handler, which may run long after the one who asked gave up.
struct Lookup {
  explicit Lookup(asio::io_context& loop) : resolver(loop), done(loop) {}
  Resolver resolver;
  Signal done;
  Result<Endpoints> outcome;
};

}  // namespace

Task<Result<Endpoints>> Resolve(HostPort target, Time deadline) {
  if (Endpoints numeric = Numeric(target); !numeric.empty()) co_return numeric;
  const auto executor = co_await asio::this_coro::executor;
  const auto lookup = std::make_shared<Lookup>(executor.context());
  lookup->resolver.async_resolve(
      target.host, std::to_string(target.port),
      [lookup, target](const asio::error_code& ec, const Resolver::results_type& found) {
        lookup->outcome = Conclude(target, ec, found);
        lookup->done.Notify();
      });
  if (!co_await lookup->done.Wait(deadline)) {
    co_return Unknown(target, "no answer in time");
  }
  co_return lookup->outcome;
}

Result<Endpoints> ResolveNow(const HostPort& target) {
  if (Endpoints numeric = Numeric(target); !numeric.empty()) return numeric;
  asio::io_context loop;
  asio::error_code ec;
  const auto found = Resolver(loop).resolve(target.host, std::to_string(target.port),
                                            Resolver::resolver_base::passive, ec);
  return Conclude(target, ec, found);
}

Time Share(Time now, Time deadline, std::size_t addresses) {
  if (addresses == 1) return deadline;
  const Duration share = (deadline - now) / static_cast<Duration::rep>(addresses);
  return now + std::min(share, kAddressPatience);
}

}  // namespace hoplite::net
