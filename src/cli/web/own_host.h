// Whether a request was meant for the page. A browser says by which name it came: if that name is
// somebody else's, whose address was changed to this one (DNS rebinding), a script of theirs asks.
#pragma once

#include <string>

namespace hoplite::cli::web {

// host: of a request, with or without a port; listen: HOST:PORT as it was given. True: it names
// loopback, is an address, is the host of `listen`, or is empty: no browser asks.
bool IsOwnHost(const std::string& host, const std::string& listen);

}  // namespace hoplite::cli::web
