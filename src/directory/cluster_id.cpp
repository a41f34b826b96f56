#include "directory/cluster_id.h"

#include <hoplite/object_id.h>

namespace hoplite::directory {

std::uint64_t ClusterId(const std::string& cluster, std::size_t shards) {
  return ObjectId::FromName(std::to_string(shards) + " " + cluster).Hash();
}

}  // namespace hoplite::directory
