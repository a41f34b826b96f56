// Decisions: makes the pure parts of a node that decide. A simulation makes others, each broken in
// one way, to show that its properties notice.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "planner/node/flight_state.h"
#include "planner/node/slot_state.h"
#include "planner/node/spill_state.h"

namespace hoplite::node {

class Decisions {
 public:
  virtual ~Decisions() = default;
  virtual std::unique_ptr<planner::FlightState> Flight(const ObjectId& object) const {
    return std::make_unique<planner::FlightState>(object);
  }
  virtual std::unique_ptr<planner::SlotState> Slot(protocol::SlotAssigned order,
                                                   const std::string& node_name, Time now) const {
    return std::make_unique<planner::SlotState>(std::move(order), node_name, now);
  }
  virtual std::unique_ptr<planner::SpillState> Spill() const {
    return std::make_unique<planner::SpillState>();
  }
};

}  // namespace hoplite::node
