// Whether a member may listen at an address: one that recognizes nobody only where no other host
// reaches it, unless its operator said that this is meant.
#pragma once

#include <string>

#include <hoplite/config.h>
#include <hoplite/result.h>

namespace hoplite::net {

// Whether other hosts reach HOST:PORT; a name is resolved.
Result<bool> OthersReach(const std::string& listen);
//   invalid_argument  other hosts would reach it: names the three ways
Result<void> RequireNoOpenDoor(const std::string& listen, const SecurityConfig& security);
// The same for a port of plain text, also beside TLS: only `insecure` opens it. `what` listens there;
// `remedy`: what else than these two would help.
Result<void> RequireNoPlainDoor(const std::string& listen, const SecurityConfig& security,
                                const std::string& what, const std::string& remedy = "");

}  // namespace hoplite::net
