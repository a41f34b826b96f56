// NodeMetrics: what a node counts and measures, for whoever watches it from outside.
// docs/observability.md has the same list.
//
// A node may have a million copies. So it looks at some of them at a time, between which the loop does
// other things, and what it gives is not of one moment. Decides nothing. Main loop only.
#pragma once

#include <optional>

#include <hoplite/object_id.h>

#include "base/metric.h"
#include "node/clients/wait_counts.h"
#include "store/object_store.h"

namespace hoplite::node {

struct Assembly;
class LocalClients;

class NodeMetrics {
 public:
  // Looks at the next copies and calls. False: that were all.
  bool Look(const Assembly& node);
  // Afterwards.
  Metrics Give(Assembly& node, const LocalClients& clients) const;

 private:
  store::StoreUse use_;
  std::optional<ObjectId> last_copy_;
  bool all_copies_ = false;
  WaitCounts waits_{};
  std::optional<ObjectId> last_entry_;
};

}  // namespace hoplite::node
