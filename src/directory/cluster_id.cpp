#include "directory/cluster_id.h"

#include "base/object_names.h"

namespace hoplite::directory {

std::uint64_t ClusterId(const std::string& cluster, std::size_t shards) {
  return IdOfName(std::to_string(shards) + " " + cluster).Hash();
}

}  // namespace hoplite::directory
