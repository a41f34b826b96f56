#include "directory/cluster_id.h"

#include <hoplite/object_id.h>

namespace hoplite::directory {

std::uint64_t ClusterId(const std::vector<std::string>& shards, const std::string& cluster) {
  std::string text = cluster;
  for (const std::string& shard : shards) text.append(1, '\0').append(shard);
  return ObjectId::FromName(text).Hash();
}

}  // namespace hoplite::directory
