#include "sim/node_world/planted_decisions.h"

namespace hoplite::node_world {
namespace {

using node::PlantedFault;
using planner::FlightState;

struct TrustsTheLastByte final : FlightState {
  using FlightState::FlightState;
  bool Whole(const StripeMarks& marks) const override { return located()->layout.complete(marks); }
};

struct KeepsStoppedReaders final : FlightState {
  using FlightState::FlightState;
  bool ReaderStalls(std::uint64_t /*ready_bytes*/, std::uint64_t /*read_bytes*/,
                    Duration /*patience*/, Time /*now*/) override {
    return false;
  }
};

struct KeepsItsPlace final : FlightState {
  using FlightState::FlightState;
  bool LendsPlace(std::uint64_t received_bytes, Time now) override {
    FlightState::LendsPlace(received_bytes, now);
    return false;
  }
};

struct QueuesInputs final : FlightState {
  using FlightState::FlightState;
  bool GoesAtOnce(bool input, bool feeds) const override { return !input && feeds; }
};

struct QueuesFeeders final : FlightState {
  using FlightState::FlightState;
  bool GoesAtOnce(bool input, bool feeds) const override { return input && !feeds; }
};

class PlantedDecisions final : public node::Decisions {
 public:
  explicit PlantedDecisions(PlantedFault fault) : fault_(fault) {}

  std::unique_ptr<FlightState> Flight(const ObjectId& object) const override {
    switch (fault_) {
      case PlantedFault::kTrustsTheLastByte:
        return std::make_unique<TrustsTheLastByte>(object);
      case PlantedFault::kKeepsStoppedReaders:
        return std::make_unique<KeepsStoppedReaders>(object);
      case PlantedFault::kKeepsItsPlace:
        return std::make_unique<KeepsItsPlace>(object);
      case PlantedFault::kQueuesInputs:
        return std::make_unique<QueuesInputs>(object);
      case PlantedFault::kQueuesFeeders:
        return std::make_unique<QueuesFeeders>(object);
      default:
        return Decisions::Flight(object);
    }
  }

 private:
  const PlantedFault fault_;
};

}  // namespace

std::shared_ptr<const node::Decisions> DecisionsWith(PlantedFault fault) {
  return std::make_shared<PlantedDecisions>(fault);
}

}  // namespace hoplite::node_world
