// PlantedShard: the directory shard of a simulated world: the real planner, and, if a fault is
// planted, a FaultInjector between it and the nodes.
//
// Decides nothing. Is told, and answers, what DirectoryState is and does. Must never: change
// anything where no fault is planted. A value type.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "planner/shard/directory_state.h"
#include "sim/planner_world/fault_injector.h"
#include "sim/planner_world/planted_fault.h"

namespace hoplite::sim {

class PlantedShard {
 public:
  PlantedShard(PlantedFault fault, const planner::DirectoryOptions& options, Time start);
  PlantedShard(const PlantedShard& other);
  PlantedShard& operator=(const PlantedShard& other);
  PlantedShard(PlantedShard&&) noexcept = default;
  PlantedShard& operator=(PlantedShard&&) noexcept = default;
  ~PlantedShard() = default;

  void Apply(const planner::Event& event);
  Time Plan(Time now, std::vector<planner::Action>& actions);
  // The planner itself: no rule is broken in there.
  const planner::DirectoryState& state() const { return state_; }
  std::uint64_t Fingerprint() const;

 private:
  planner::DirectoryState state_;
  std::unique_ptr<FaultInjector> injector_;  // null: nobody
};

}  // namespace hoplite::sim
