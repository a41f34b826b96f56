#include "sim/planner_world/planted_shard.h"

#include <algorithm>
#include <iterator>

namespace hoplite::sim {

PlantedShard::PlantedShard(PlantedFault fault, const planner::DirectoryOptions& options, Time start)
    : state_(options, start), injector_(InjectorOf(fault)) {}

PlantedShard::PlantedShard(const PlantedShard& other)
    : state_(other.state_), injector_(other.injector_ ? other.injector_->Copy() : nullptr) {}

PlantedShard& PlantedShard::operator=(const PlantedShard& other) {
  if (this != &other) *this = PlantedShard(other);
  return *this;
}

void PlantedShard::Apply(const planner::Event& event) {
  if (!injector_ || injector_->Hears(event.body)) state_.Apply(event);
}

Time PlantedShard::Plan(Time now, std::vector<planner::Action>& actions) {
  if (!injector_) return state_.Plan(now, actions);
  while (true) {
    std::vector<planner::Action> answers;
    const Time again = state_.Plan(now, answers);
    const std::vector<planner::EventBody> made_up = injector_->Answer(answers);
    std::ranges::move(answers, std::back_inserter(actions));
    if (made_up.empty()) return again;
    for (const planner::EventBody& event : made_up) state_.Apply({now, event});
  }
}

std::uint64_t PlantedShard::Fingerprint() const {
  if (!injector_) return state_.Fingerprint();
  Digest digest;
  digest.Add(state_.Fingerprint());
  injector_->AddTo(digest);
  return digest.value();
}

}  // namespace hoplite::sim
