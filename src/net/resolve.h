// Host names to addresses.
#pragma once

#include <vector>

#include <asio/ip/tcp.hpp>

#include "base/text.h"
#include "net/stream.h"

namespace hoplite::net {

using Endpoints = std::vector<asio::ip::tcp::endpoint>;

// On the calling coroutine's loop; the look-up itself runs on a thread of Asio's, and is left alone
// when the deadline comes first. Numeric addresses need no look-up.
Task<Result<Endpoints>> Resolve(HostPort target, Time deadline);
// The same at once, for the address to listen on.
Result<Endpoints> ResolveNow(const HostPort& target);

}  // namespace hoplite::net
