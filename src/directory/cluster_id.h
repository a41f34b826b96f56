// ClusterId: what data connections between nodes carry, so that one that was meant for a node of
// another cluster is refused in words. Of the cluster's name and its number of shards only: the
// same for all members at any time, however they write the addresses. (Nodes are named by their own
// ids besides; which shards belong together is Admission's.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hoplite::directory {

std::uint64_t ClusterId(const std::string& cluster, std::size_t shards);

}  // namespace hoplite::directory
