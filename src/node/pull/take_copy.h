// A copy that a node gets because the shard says that others need it there (R68), without a client
// that asks for it. It ends up like any reader's copy: it may be evicted.
#pragma once

#include "node/core/context.h"
#include "node/core/object_entry.h"
#include "node/streams/data_plane.h"

namespace hoplite::node {

// Ends when the copy is there, or nothing came for a while, or the object has a copy, a fetch or a
// maker here already.
net::Task<void> TakeCopy(Context& context, DataPlane& data_plane, EntryPtr entry);

}  // namespace hoplite::node
