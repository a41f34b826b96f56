// The picture that the directory itself has, without a node between.
#pragma once

#include <string>
#include <vector>

#include <hoplite/result.h>
#include <hoplite/status.h>

#include "base/time.h"

namespace hoplite::cli {

// Asks every shard; a node is alive if all of them think so.
Result<ClusterStatus> StatusOfDirectory(const std::vector<std::string>& shards, Duration timeout);

}  // namespace hoplite::cli
