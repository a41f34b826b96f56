// The picture that the directory itself has, without a node between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/result.h>
#include <hoplite/status.h>

#include "base/time.h"
#include "net/security.h"

namespace hoplite::cli {

// Asks every shard for page after page, within the timeout each; a node is alive if all of them
// think so. Lists at most so many objects, the first in the order of ids.
Result<ClusterStatus> StatusOfDirectory(const std::vector<std::string>& shards,
                                        const net::SecurityPtr& security, Duration timeout,
                                        std::uint64_t max_objects);

}  // namespace hoplite::cli
