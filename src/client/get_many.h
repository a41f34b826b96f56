// In which order one client asks for several objects.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <hoplite/object_id.h>

namespace hoplite::client {

// Every place in `ids` once, in an order of this node's own: the nodes of an allgather, who all
// have the same list, should not ask the same holder first. (Asking for all at once is as fast as
// asking for some at a time, or faster: the directory plans better with all in sight.)
std::vector<std::size_t> OrderOfAsking(std::span<const ObjectId> ids, std::string_view node);

}  // namespace hoplite::client
