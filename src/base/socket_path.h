// The path of a node's Unix socket, for as long as somebody keeps it.
#pragma once

#include <string>

namespace hoplite {

// From the root, so that it stays the same when the process changes its folder. As it is if it would
// then be longer than a socket's path may be, or there is no folder now.
std::string AbsoluteSocketPath(const std::string& path);

}  // namespace hoplite
