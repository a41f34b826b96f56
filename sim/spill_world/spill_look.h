// SpillWorld::Look: one state, and the steps from it.
#pragma once

#include <utility>
#include <vector>

#include "sim/spill_world/spill_world.h"

namespace hoplite::sim {

struct SpillWorld::Look {
  using Objects = std::vector<std::uint8_t>;

  const SpillScenario& is;
  const State& now;
  std::vector<Step> steps = {};

  const SpillRules& rules() const { return is.rules; }
  const Copy& At(std::uint8_t node, std::uint8_t object) const {
    return now.nodes[node].copies[object];
  }
  std::uint8_t Used(std::uint8_t node) const;
  std::uint8_t DiskUsed(std::uint8_t node) const;
  bool HasRoom(std::uint8_t node) const { return Used(node) < is.memory; }
  bool Complete(std::uint8_t node, std::uint8_t object) const {
    return At(node, object).has_bytes() && !At(node, object).dead;
  }
  bool CompleteAnywhere(std::uint8_t object) const;
  bool CompleteElsewhere(std::uint8_t node, std::uint8_t object) const;
  bool Servable(std::uint8_t node, std::uint8_t object) const;
  bool ServableAnywhere(std::uint8_t object) const;
  bool OnFileOnly(std::uint8_t node, std::uint8_t object) const;
  const SpillCall* CallOf(std::size_t client) const;

  // A step after which a copy, or more, is otherwise.
  template <typename Change>
  void Add(const char* name, std::uint8_t node, std::uint8_t object, Change change) {
    State after = now;
    change(after);
    for (Node& one : after.nodes) {
      for (Copy& copy : one.copies) Settle(copy);
    }
    if (after != now) steps.push_back({name, node, object, after});
  }
  // A deleted copy goes when nobody uses it.
  static void Settle(Copy& copy);

  // What clients do (spill_clients.cpp).
  void AddClient(std::size_t client);
  void AddGet(std::size_t client, std::uint8_t node, std::uint8_t object);
  void AddReduce(std::size_t client, std::uint8_t node, const SpillCall& call);
  void AddReady(std::size_t client, std::uint8_t node, const SpillCall& call);
  Objects Own(std::uint8_t node, const SpillCall& call) const;
  void AddRestore(std::uint8_t node, std::uint8_t object);

  // What a node does by itself (spill_nodes.cpp).
  bool Wants(std::uint8_t node) const;
  bool WaitsForMemory(std::size_t client) const;
  bool Wished(std::uint8_t node, std::uint8_t object) const;
  void AddNode(std::uint8_t node);
  void AddArrivals(std::uint8_t node, std::uint8_t object);
  void AddWritten(std::uint8_t node, std::uint8_t object);
  void AddLeaving(std::uint8_t node, std::uint8_t object);
  void AddWrite(std::uint8_t node, std::uint8_t object);
  void AddThread(std::uint8_t node);
};

}  // namespace hoplite::sim
