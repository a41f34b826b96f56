// ClusterId: which cluster a member believes to be in. Equal only for the same shards, written the
// same way and in the same order, and the same optional name: an id of an object would otherwise
// lead different nodes to different shards. Data connections carry it too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hoplite::directory {

std::uint64_t ClusterId(const std::vector<std::string>& shards, const std::string& cluster);

}  // namespace hoplite::directory
