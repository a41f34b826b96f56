// What injectors of faults are made of: what a word says, which grants are open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "sim/planner_world/fault_injector.h"

namespace hoplite::sim {

using planner::Action;
using planner::EventBody;

// Numbers from here on are made up: no shard of a test comes so far.
inline constexpr std::uint64_t kMadeUp = 1'000'000'000;

template <typename Word>
const Word* Said(const EventBody& event) {
  const auto* said = std::get_if<planner::NodeSaid>(&event);
  return said != nullptr ? std::get_if<Word>(&said->event) : nullptr;
}

template <typename Self>
class Copied : public FaultInjector {
  friend Self;
  Copied() = default;

 public:
  std::unique_ptr<FaultInjector> Copy() const override {
    return std::make_unique<Self>(static_cast<const Self&>(*this));
  }
};

// The grants that are open, as far as one can hear: until it is closed, or a node of it is lost.
class Grants {
 public:
  struct Open {
    NodeId receiver = kNoNode;
    protocol::Grant grant;
  };

  const std::map<GrantId, Open>& open() const { return open_; }
  // Null, or the first that this node serves.
  const Open* From(NodeId source) const {
    const auto found = std::ranges::find_if(
        open_, [&](const auto& entry) { return entry.second.grant.source.id == source; });
    return found == open_.end() ? nullptr : &found->second;
  }
  void Note(const std::vector<Action>& answers) {
    for (const Action& answer : answers) {
      const auto* grant = std::get_if<protocol::Grant>(&answer.body);
      if (grant != nullptr) open_[grant->grant] = {answer.to, *grant};
    }
  }
  void Note(const EventBody& event) {
    if (const auto* closed = Said<protocol::GrantClosed>(event)) open_.erase(closed->grant);
    const auto* lost = std::get_if<planner::NodeLost>(&event);
    std::erase_if(open_, [&](const auto& entry) {
      const Open& one = entry.second;
      return lost != nullptr && (one.receiver == lost->node || one.grant.source.id == lost->node);
    });
  }
  void AddTo(Digest& digest) const {
    for (const auto& [id, one] : open_) digest.Add(id).Add(one.receiver).Add(one.grant.source.id);
  }

 private:
  std::map<GrantId, Open> open_;
};

// Of the faults about nodes that can't connect (pair_faults.cpp).
std::unique_ptr<FaultInjector> PairInjectorOf(PlantedFault fault);

}  // namespace hoplite::sim
