// What a shard counts and measures, for whoever watches it from outside. docs/observability.md has the
// same list.
#pragma once

#include <vector>

#include "base/metric.h"
#include "directory/shard_tally.h"
#include "protocol/views.h"

namespace hoplite::directory {

Metrics MetricsOf(const ShardTally& tally, const protocol::ShardView& shard,
                  const std::vector<protocol::NodeView>& nodes);

}  // namespace hoplite::directory
