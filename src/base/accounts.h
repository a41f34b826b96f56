// The users and groups of this host, by name and number.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace hoplite {

// "alice", or "user 1000" where it has no name.
std::string UserInWords(uid_t user);
// "staff", or "50" where it has no name.
std::string GroupInWords(gid_t group);
// The group of that name, or of that number, which may have no name; none: there is no such group.
std::optional<gid_t> FindGroup(const std::string& name);

}  // namespace hoplite
