// What this node tells `hoplite doctor`: of its process and host, and whether it reaches a peer.
//
// Must never take long: a peer that does not answer is given up, and the asker's next question waits
// meanwhile. On a data loop.
#pragma once

#include <hoplite/result.h>

#include "net/stream.h"
#include "node/streams/data_plane.h"
#include "wire/check_up.h"
#include "wire/frame.h"

namespace hoplite::node {

net::Task<wire::CheckUp> CheckUpOf(DataLoop& data_loop, DataPlane& data_plane, wire::CheckAsk ask);

}  // namespace hoplite::node
