// Host names to addresses.
#pragma once

#include <cstddef>
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
// Until when the first of so many addresses may be tried, so that one that is silent leaves time for
// the others.
Time Share(Time now, Time deadline, std::size_t addresses);

}  // namespace hoplite::net
