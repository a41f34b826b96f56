// FaultInjector: stands between a directory shard and its nodes, and breaks one rule: a planted fault.
//
// Decides: which word of either side is lost, changed or made up. Is told all of them. Must never:
// know more than they say.
#pragma once

#include <memory>
#include <vector>

#include "base/digest.h"
#include "planner/words/words.h"
#include "sim/planner_world/planted_fault.h"

namespace hoplite::sim {

class FaultInjector {
 public:
  virtual ~FaultInjector() = default;
  virtual std::unique_ptr<FaultInjector> Copy() const = 0;
  // Whether the shard hears this.
  virtual bool Hears(const planner::EventBody& /*event*/) { return true; }
  // Changes what the shard answers at once, which may be nothing. Returns what the shard hears next
  // in the name of its nodes.
  virtual std::vector<planner::EventBody> Answer(std::vector<planner::Action>& /*answers*/) {
    return {};
  }
  virtual void AddTo(Digest& /*digest*/) const {}
};

// Null where the fault is none of a shard's.
std::unique_ptr<FaultInjector> InjectorOf(PlantedFault fault);

}  // namespace hoplite::sim
