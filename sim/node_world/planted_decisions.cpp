#include "sim/node_world/planted_decisions.h"

#include <algorithm>
#include <utility>

namespace hoplite::node_world {
namespace {

using planner::FlightState;
using planner::SlotState;
using planner::SpillState;

struct TrustsTheLastByte final : FlightState {
  using FlightState::FlightState;

 protected:
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
  bool LendsTurn(std::uint64_t received_bytes, Time now) override {
    FlightState::LendsTurn(received_bytes, now);
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

struct HoardsMemory final : SlotState {
  using SlotState::SlotState;
  void GiveBack() override {}
};

struct LeavesDiskIdle final : SpillState {
  bool MayWrite(Time /*now*/) const override { return false; }
};

struct ReturnsBeforeCommit final : SlotState {
  using SlotState::SlotState;
  void Finish(Effects& out) override {
    SlotState::Finish(out);
    if (!serves_source()) out.seal = makes();
  }
};

// A child's stream, too, has its turn only now and then.
struct QueuesChildren final : SlotState {
  using SlotState::SlotState;
  void PullWhatIsDue(Time now, Effects& out) override {
    if (now < turn_) return;
    turn_ = now + std::chrono::milliseconds(100);
    SlotState::PullWhatIsDue(now, out);
  }
  Time turn_{};
};

// The last block of each stripe comes once more after a break.
struct FoldsTwice final : SlotState {
  using SlotState::SlotState;
  StripeMarks ResumesAt(const Child& child) const override {
    StripeMarks marks = SlotState::ResumesAt(child);
    for (std::uint32_t& mark : marks) mark -= std::min(mark, 1u);
    return marks;
  }
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

  std::unique_ptr<SlotState> Slot(protocol::SlotAssigned order, const std::string& node_name,
                                  Time now) const override {
    switch (fault_) {
      case PlantedFault::kHoardsMemory:
        return std::make_unique<HoardsMemory>(std::move(order), node_name, now);
      case PlantedFault::kReturnsBeforeCommit:
        return std::make_unique<ReturnsBeforeCommit>(std::move(order), node_name, now);
      case PlantedFault::kQueuesInputs:
        return std::make_unique<QueuesChildren>(std::move(order), node_name, now);
      case PlantedFault::kFoldsTwice:
        return std::make_unique<FoldsTwice>(std::move(order), node_name, now);
      default:
        return Decisions::Slot(std::move(order), node_name, now);
    }
  }

  std::unique_ptr<SpillState> Spill() const override {
    if (fault_ == PlantedFault::kLeavesDiskIdle) return std::make_unique<LeavesDiskIdle>();
    return Decisions::Spill();
  }

 private:
  const PlantedFault fault_;
};

}  // namespace

std::shared_ptr<const node::Decisions> DecisionsWith(PlantedFault fault) {
  return std::make_shared<PlantedDecisions>(fault);
}

}  // namespace hoplite::node_world
