// What the members of a cluster decided lately, as each of them tells it. A member that does not answer
// is named with the reason: half of the members may be stopped, which is when people ask.
#pragma once

#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/time.h"
#include "net/security.h"
#include "wire/trace.h"

namespace hoplite::cli {

struct MemberTrace {
  std::string name;  // of a node; of a shard "shard 0"
  Result<std::vector<wire::TraceEntry>> decisions;
};

// Asks all shards and, of the nodes that any shard knows, the data port, at once. Shards first. Takes
// the timeout for the shards' answers, and once more for the nodes'.
std::vector<MemberTrace> AskForTraces(const std::vector<std::string>& shards,
                                      const std::string& cluster, const net::SecurityPtr& security,
                                      Duration timeout);

}  // namespace hoplite::cli
