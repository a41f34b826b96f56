// The picture of the cluster, page after page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <hoplite/result.h>
#include <hoplite/status.h>

#include "base/time.h"
#include "client/connection.h"

namespace hoplite::client {

// Where there are several shards one that is silent for `patience` is away.
Result<ClusterStatus> AskForStatus(Connection& connection, Time deadline, std::uint64_t max_objects,
                                   Duration patience = Duration::max());

// --- of one shard after the other, however they are asked
// It is away, or slow: others may answer all the same.
bool LacksOne(const Error& error);
// Shard number `shard` did not answer, or not to the end.
void AddAway(const Error& why, std::size_t shard, ClusterStatus& status);
// The picture with at most so many objects; if no shard answered, what they lack.
Result<ClusterStatus> WithWhatIsThere(ClusterStatus status, std::uint64_t max_objects,
                                      const std::optional<Error>& lacks);

}  // namespace hoplite::client
