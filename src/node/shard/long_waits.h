// LongWaits: tells the shards what this node waits for and they can't see, for whoever asks why: the
// sources of a reduction, the memory or the place of a fetch, the memory of a Put.
//
// Decides: which waits are long. Is told: that a second has passed. Must never: ask anything of a
// shard. Main loop only.
#pragma once

#include <set>

#include <hoplite/object_id.h>

#include "node/core/context.h"

namespace hoplite::node {

class LongWaits {
 public:
  explicit LongWaits(Context& context) : context_(context) {}

  // Tells what waits now, and waited at the last tick.
  void Tick();

 private:
  std::string WhyWaits(const ObjectEntry& entry) const;

  Context& context_;
  std::set<ObjectId> waited_;  // at the last tick
  bool told_ = false;          // the shards know of some
};

}  // namespace hoplite::node
