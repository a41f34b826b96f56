// ClusterId: what data connections between nodes carry, so that one that was meant for a node of
// another cluster is refused in words. It is made of the cluster's name and its number of shards
// only, so it is the same for all members at any time, however they write the addresses. (A
// connection names its nodes by their ids besides; Admission decides which shards belong together.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hoplite::directory {

std::uint64_t ClusterId(const std::string& cluster, std::size_t shards);

}  // namespace hoplite::directory
