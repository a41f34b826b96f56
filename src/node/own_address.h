// Where this node says that others reach it.
#pragma once

#include <string>
#include <vector>

#include <hoplite/config.h>
#include <hoplite/result.h>

namespace hoplite::node {

// The port that was really bound, at the advertised host. A name that this host can't resolve is an
// error: peers would look for this node under it, in vain, and nobody would be told why. A name that
// only other hosts know is refused with it, since its address does as well.
Result<std::string> AdvertisedAddress(const NodeConfig& config, const std::string& bound);

// What is wrong with the address where the directory is another host's; empty: nothing.
std::string WrongBesideDirectory(const std::string& address,
                                 const std::vector<std::string>& directory);

}  // namespace hoplite::node
