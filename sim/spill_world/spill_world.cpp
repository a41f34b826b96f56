#include "sim/spill_world/spill_world.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/spill_world/spill_look.h"

namespace hoplite::sim {

std::uint8_t SpillWorld::Look::Used(std::uint8_t node) const {
  return static_cast<std::uint8_t>(std::ranges::count_if(
      now.nodes[node].copies, [](const Copy& copy) { return copy.memory != Memory::kNone; }));
}

std::uint8_t SpillWorld::Look::DiskUsed(std::uint8_t node) const {
  return static_cast<std::uint8_t>(std::ranges::count_if(
      now.nodes[node].copies, [](const Copy& copy) { return copy.file != File::kNone; }));
}

bool SpillWorld::Look::CompleteAnywhere(std::uint8_t object) const {
  return CompleteElsewhere(kMostNodes, object);
}

bool SpillWorld::Look::CompleteElsewhere(std::uint8_t node, std::uint8_t object) const {
  for (std::uint8_t other = 0; other < is.nodes; ++other) {
    if (other != node && Complete(other, object)) return true;
  }
  return false;
}

bool SpillWorld::Look::Servable(std::uint8_t node, std::uint8_t object) const {
  const Copy& copy = At(node, object);
  if (!copy.listed || copy.dead) return false;
  return copy.memory == Memory::kThere || (rules().serves_from_file && copy.file == File::kThere);
}

bool SpillWorld::Look::ServableAnywhere(std::uint8_t object) const {
  for (std::uint8_t node = 0; node < is.nodes; ++node) {
    if (Complete(node, object) && Servable(node, object)) return true;
  }
  return false;
}

bool SpillWorld::Look::OnFileOnly(std::uint8_t node, std::uint8_t object) const {
  const Copy& copy = At(node, object);
  return copy.listed && copy.memory == Memory::kNone && copy.file == File::kThere;
}

const SpillCall* SpillWorld::Look::CallOf(std::size_t client) const {
  const auto& calls = is.clients[client].calls;
  return now.calls[client] < calls.size() ? &calls[now.calls[client]] : nullptr;
}

void SpillWorld::Look::Settle(Copy& copy) {
  const bool comes = copy.memory == Memory::kComing || copy.file == File::kComing;
  if (copy.dead && copy.pins == 0 && copy.lanes == 0 && !comes) copy = {};
}

std::vector<SpillWorld::Step> SpillWorld::Steps(const State& state) const {
  Look look{.is = is_, .now = state};
  for (std::size_t client = 0; client < is_.clients.size(); ++client) look.AddClient(client);
  for (std::uint8_t node = 0; node < is_.nodes; ++node) look.AddNode(node);
  return std::move(look.steps);
}

bool SpillWorld::Ended(const State& state) const {
  const Look look{.is = is_, .now = state};
  for (std::size_t client = 0; client < is_.clients.size(); ++client) {
    if (look.CallOf(client) != nullptr) return false;
  }
  return true;
}

std::string SpillWorld::Broken(const State& state) const {
  const Look look{.is = is_, .now = state};
  std::set<std::uint8_t> there;
  std::set<std::uint8_t> deleted;
  for (std::size_t client = 0; client < is_.clients.size(); ++client) {
    for (std::size_t i = 0; i < state.calls[client]; ++i) {
      const SpillCall& call = is_.clients[client].calls[i];
      const bool puts = call.kind == SpillCall::Kind::kPut || call.kind == SpillCall::Kind::kReduce;
      if (puts) there.insert(call.object);
      if (call.kind == SpillCall::Kind::kDelete) deleted.insert(call.object);
    }
  }
  for (const std::uint8_t object : there) {
    const bool lost = !deleted.contains(object) && !look.CompleteAnywhere(object);
    if (lost) return fmt::format("object {} is lost", object);
  }
  for (std::uint8_t node = 0; node < is_.nodes; ++node) {
    if (look.Used(node) > is_.memory) return "more memory than there is";
    if (look.DiskUsed(node) > is_.rules.disk) return "more disk than there is";
    for (std::uint8_t object = 0; object < kMostObjects; ++object) {
      const Copy& copy = look.At(node, object);
      if (copy.lanes > 0 && !copy.has_bytes()) {
        return fmt::format("node {} sends object {}, and has no bytes of it", node, object);
      }
    }
  }
  return "";
}

}  // namespace hoplite::sim
