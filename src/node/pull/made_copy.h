// A copy whose bytes did not come by a stream: filled at once, or written here by a client.
#pragma once

#include <string>

#include <hoplite/result.h>

#include "base/layout.h"
#include "node/core/context.h"
#include "node/core/object_entry.h"
#include "store/copy.h"

namespace hoplite::node {

// What these stripes lack of the object's bytes.
void Fill(store::Copy& copy, const std::string& bytes, StripeMask stripes);

// It is the node's copy from now on, in place of any other; a fetch of the object is over.
Result<void> ListMade(Context& context, ObjectEntry& entry, const store::CopyPtr& copy);

}  // namespace hoplite::node
