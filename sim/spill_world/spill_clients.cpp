// What clients do: their calls, one after another.
#include <algorithm>

#include "sim/spill_world/spill_look.h"

namespace hoplite::sim {
namespace {

using Kind = SpillCall::Kind;
using State = SpillWorld::State;

void PinAll(State& after, std::uint8_t node, const std::vector<std::uint8_t>& objects, int by) {
  for (const std::uint8_t object : objects) {
    auto& pins = after.nodes[node].copies[object].pins;
    pins = static_cast<std::uint8_t>(pins + by);
  }
}

void EndCall(State& after, std::size_t client) {
  ++after.calls[client];
  after.phases[client] = SpillWorld::Phase::kAsked;
}

}  // namespace

void SpillWorld::Look::AddClient(std::size_t client) {
  const SpillCall* call = CallOf(client);
  if (call == nullptr) return;
  const std::uint8_t node = is.clients[client].node;
  const std::uint8_t object = call->object;
  switch (call->kind) {
    case Kind::kPut:
      if (!HasRoom(node)) return;
      return Add("put", node, object, [&](State& after) {
        after.nodes[node].copies[object] = {.listed = true, .memory = Memory::kThere};
        EndCall(after, client);
      });
    case Kind::kGet:
      return AddGet(client, node, object);
    case Kind::kRelease:
      return Add("release", node, object, [&](State& after) {
        --after.nodes[node].copies[object].pins;
        EndCall(after, client);
      });
    case Kind::kDelete:
      return Add("delete", node, object, [&](State& after) {
        for (Node& one : after.nodes) one.copies[object].dead = one.copies[object].listed;
        EndCall(after, client);
      });
    case Kind::kReduce:
      return AddReduce(client, node, *call);
  }
}

void SpillWorld::Look::AddGet(std::size_t client, std::uint8_t node, std::uint8_t object) {
  const Copy& copy = At(node, object);
  if (copy.dead) return;
  if (copy.listed && copy.memory == Memory::kThere) {
    return Add("get has it", node, object, [&](State& after) {
      ++after.nodes[node].copies[object].pins;
      EndCall(after, client);
    });
  }
  if (OnFileOnly(node, object)) return AddRestore(node, object);
  if (copy.listed || !CompleteAnywhere(object) || !HasRoom(node)) return;
  Add("get has memory", node, object, [&](State& after) {
    after.nodes[node].copies[object] = {.listed = true, .relayed = true, .memory = Memory::kComing};
  });
}

void SpillWorld::Look::AddRestore(std::uint8_t node, std::uint8_t object) {
  if (!rules().memory_before_thread) {
    if (now.nodes[node].restores != 0) return;
    return Add("restore has the thread", node, object, [&](State& after) {
      after.nodes[node].restores = static_cast<std::uint8_t>(object + 1);
    });
  }
  if (!HasRoom(node)) return;
  Add("restore", node, object, [&](State& after) {
    Copy& copy = after.nodes[node].copies[object];
    copy.memory = Memory::kComing;
    copy.from = static_cast<std::uint8_t>(From::kDisk);
  });
}

// The sources that were put here.
SpillWorld::Look::Objects SpillWorld::Look::Own(std::uint8_t node, const SpillCall& call) const {
  Objects own;
  for (const std::uint8_t source : call.sources) {
    if (At(node, source).listed && !At(node, source).relayed) own.push_back(source);
  }
  return own;
}

void SpillWorld::Look::AddReduce(std::size_t client, std::uint8_t node, const SpillCall& call) {
  const Objects own = Own(node, call);
  switch (now.phases[client]) {
    case Phase::kAsked:
      return AddReady(client, node, call);
    case Phase::kReady:
      if (!HasRoom(node)) return;
      return Add("sum has memory", node, call.object, [&](State& after) {
        if (rules().waits_unpinned && rules().folds_from_file) PinAll(after, node, own, 1);
        after.nodes[node].copies[call.object] = {.listed = true,
                                                 .memory = Memory::kComing,
                                                 .from = static_cast<std::uint8_t>(From::kFold)};
        after.phases[client] = Phase::kFolds;
      });
    case Phase::kFolds:
      for (const std::uint8_t source : call.sources) {
        const bool mine = std::ranges::find(own, source) != own.end();
        if (!mine && !ServableAnywhere(source)) return;
      }
      return Add("sum ends", node, call.object, [&](State& after) {
        PinAll(after, node, own, -1);
        after.nodes[node].copies[call.object] = {.listed = true, .memory = Memory::kThere};
        EndCall(after, client);
      });
  }
}

void SpillWorld::Look::AddReady(std::size_t client, std::uint8_t node, const SpillCall& call) {
  for (const std::uint8_t source : call.sources) {
    if (!CompleteAnywhere(source)) return;
  }
  const Objects own = Own(node, call);
  for (const std::uint8_t source : own) {
    if (rules().folds_from_file || At(node, source).memory == Memory::kThere) continue;
    if (At(node, source).memory == Memory::kNone) AddRestore(node, source);
    return;
  }
  Add("sum is ready", node, call.object, [&](State& after) {
    if (!rules().waits_unpinned || !rules().folds_from_file) PinAll(after, node, own, 1);
    after.phases[client] = Phase::kReady;
  });
}

}  // namespace hoplite::sim
