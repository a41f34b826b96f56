// Host names to addresses.
#pragma once

#include <chrono>
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
// An address that is silent for so long makes room for the next one.
inline constexpr Duration kAddressPatience = std::chrono::milliseconds(300);
// Until when the first of so many addresses may be tried: so long at most, and so that the others have
// their share of the time. The last has all that is left.
Time Share(Time now, Time deadline, std::size_t addresses);

}  // namespace hoplite::net
