// Messages of the local protocol as public types.
#pragma once

#include <hoplite/status.h>

#include "hoplite/v1/local.pb.h"

namespace hoplite::client {

ObjectInfo ToObjectInfo(const v1::local::ObjectInfo& message);
ClusterStatus ToClusterStatus(const v1::local::ClusterStatus& message);

}  // namespace hoplite::client
