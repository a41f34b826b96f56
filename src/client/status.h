// The picture of the cluster, page after page.
#pragma once

#include <cstdint>

#include <hoplite/result.h>
#include <hoplite/status.h>

#include "base/time.h"
#include "client/connection.h"

namespace hoplite::client {

Result<ClusterStatus> AskForStatus(Connection& connection, Time deadline,
                                   std::uint64_t max_objects);

}  // namespace hoplite::client
