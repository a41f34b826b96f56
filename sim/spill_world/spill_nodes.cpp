// What nodes do by themselves: streams, writes, and what leaves memory while somebody waits for some.
#include "sim/spill_world/spill_look.h"

namespace hoplite::sim {
namespace {

using State = SpillWorld::State;
using From = SpillWorld::From;

constexpr std::uint8_t Number(From from) { return static_cast<std::uint8_t>(from); }

}  // namespace

bool SpillWorld::Look::Wants(std::uint8_t node) const {
  if (HasRoom(node)) return false;
  if (now.nodes[node].restores != 0) return true;
  for (std::size_t client = 0; client < is.clients.size(); ++client) {
    if (is.clients[client].node == node && WaitsForMemory(client)) return true;
  }
  for (std::uint8_t object = 0; object < kMostObjects; ++object) {
    if (Wished(node, object)) return true;
  }
  return false;
}

bool SpillWorld::Look::WaitsForMemory(std::size_t client) const {
  const SpillCall* call = CallOf(client);
  if (call == nullptr) return false;
  const std::uint8_t node = is.clients[client].node;
  switch (call->kind) {
    case SpillCall::Kind::kPut:
      return true;
    case SpillCall::Kind::kGet:
      return At(node, call->object).listed ? OnFileOnly(node, call->object)
                                           : CompleteAnywhere(call->object);
    case SpillCall::Kind::kReduce:
      return now.phases[client] == Phase::kReady;
    case SpillCall::Kind::kRelease:
    case SpillCall::Kind::kDelete:
      return false;
  }
  return false;
}

// Somebody elsewhere needs this node's copy, which has to be restored for that (R121 broken).
bool SpillWorld::Look::Wished(std::uint8_t node, std::uint8_t object) const {
  if (rules().serves_from_file || !OnFileOnly(node, object) || At(node, object).dead) return false;
  for (std::uint8_t other = 0; other < is.nodes; ++other) {
    const Copy& copy = At(other, object);
    if (copy.listed && copy.memory == Memory::kComing && copy.from == Number(From::kNobody)) {
      return true;
    }
  }
  for (std::size_t client = 0; client < is.clients.size(); ++client) {
    const SpillCall* call = CallOf(client);
    if (call == nullptr || call->kind != SpillCall::Kind::kReduce) continue;
    if (now.phases[client] != Phase::kFolds) continue;
    for (const std::uint8_t source : call->sources) {
      if (source == object) return !ServableAnywhere(object);
    }
  }
  return false;
}

void SpillWorld::Look::AddNode(std::uint8_t node) {
  const bool wants = Wants(node);
  for (std::uint8_t object = 0; object < kMostObjects; ++object) {
    if (!At(node, object).listed) continue;
    AddArrivals(node, object);
    if (Wished(node, object)) AddRestore(node, object);
    if (At(node, object).file == File::kComing) AddWritten(node, object);
    if (wants && !At(node, object).dead) AddLeaving(node, object);
  }
  if (now.nodes[node].restores != 0) AddThread(node);
}

void SpillWorld::Look::AddArrivals(std::uint8_t node, std::uint8_t object) {
  const Copy& copy = At(node, object);
  if (copy.memory != Memory::kComing) return;
  if (copy.from == Number(From::kDisk)) {
    return Add("restored", node, object, [&](State& after) {
      after.nodes[node].copies[object].memory = Memory::kThere;
      after.nodes[node].copies[object].from = Number(From::kKept);
    });
  }
  if (copy.from >= Number(From::kNode)) {
    const auto holder = static_cast<std::uint8_t>(copy.from - Number(From::kNode));
    return Add("arrived", node, object, [&](State& after) {
      --after.nodes[holder].copies[object].lanes;
      after.nodes[node].copies[object].memory = Memory::kThere;
      after.nodes[node].copies[object].from = Number(From::kNobody);
    });
  }
  if (copy.from != Number(From::kNobody)) return;
  for (std::uint8_t holder = 0; holder < is.nodes; ++holder) {
    if (holder == node || !Complete(holder, object) || !Servable(holder, object)) continue;
    Add("grant", node, object, [&](State& after) {
      ++after.nodes[holder].copies[object].lanes;
      after.nodes[node].copies[object].from =
          static_cast<std::uint8_t>(Number(From::kNode) + holder);
    });
  }
}

void SpillWorld::Look::AddWritten(std::uint8_t node, std::uint8_t object) {
  if (now.nodes[node].restores == 0 || rules().memory_before_thread) {
    Add("written", node, object,
        [&](State& after) { after.nodes[node].copies[object].file = File::kThere; });
  }
  if (!rules().writes_fail || now.nodes[node].broken) return;
  Add("write fails", node, object, [&](State& after) {
    after.nodes[node].broken = true;
    Copy& copy = after.nodes[node].copies[object];
    copy.file = File::kNone;
    if (copy.memory == Memory::kNone) copy = {};
  });
}

// Somebody waits for memory.
void SpillWorld::Look::AddLeaving(std::uint8_t node, std::uint8_t object) {
  const Copy& copy = At(node, object);
  const bool idle = copy.memory == Memory::kThere && copy.pins == 0 && copy.lanes == 0;
  if (idle && copy.relayed && copy.file == File::kNone) {
    const bool last = !CompleteElsewhere(node, object);
    Add(last ? "kept" : "evicted", node, object, [&](State& after) {
      if (last) after.nodes[node].copies[object].relayed = false;
      if (!last) after.nodes[node].copies[object] = {};
    });
  }
  const bool may_go = rules().restored_may_go || copy.from != Number(From::kKept);
  if (idle && !copy.relayed && copy.file == File::kNone && may_go) AddWrite(node, object);
  if (idle && copy.file == File::kThere && may_go) {
    Add("memory goes", node, object, [&](State& after) {
      after.nodes[node].copies[object].memory = Memory::kNone;
      after.nodes[node].copies[object].from = Number(From::kNobody);
    });
  }
  const bool served = copy.file == File::kThere && copy.memory == Memory::kNone && copy.lanes > 0;
  if (served && !rules().file_stays_while_read) {
    Add("its file goes", node, object,
        [&](State& after) { after.nodes[node].copies[object].file = File::kNone; });
  }
}

void SpillWorld::Look::AddWrite(std::uint8_t node, std::uint8_t object) {
  if (rules().disk == 0 || now.nodes[node].broken) return;
  if (DiskUsed(node) < rules().disk) {
    if (now.nodes[node].restores != 0 && !rules().memory_before_thread) return;
    return Add("write", node, object, [&](State& after) {
      Copy& copy = after.nodes[node].copies[object];
      copy.file = File::kComing;
      if (!rules().frees_at_end) copy.memory = Memory::kNone;
    });
  }
  // A file whose bytes are in memory, too, makes room.
  for (std::uint8_t other = 0; other < kMostObjects; ++other) {
    const Copy& both = At(node, other);
    if (other == object || both.file != File::kThere || both.memory != Memory::kThere) continue;
    if (rules().file_stays_while_read && (both.lanes > 0 || both.pins > 0)) continue;
    Add("a file makes room", node, other,
        [&](State& after) { after.nodes[node].copies[other].file = File::kNone; });
  }
}

// It holds the thread, and has no memory yet (R122 broken).
void SpillWorld::Look::AddThread(std::uint8_t node) {
  const auto object = static_cast<std::uint8_t>(now.nodes[node].restores - 1);
  const Copy& copy = At(node, object);
  if (!copy.listed || copy.memory == Memory::kThere) {
    return Add("the thread is free", node, object,
               [&](State& after) { after.nodes[node].restores = 0; });
  }
  if (copy.memory != Memory::kNone || !HasRoom(node)) return;
  Add("restore has memory", node, object, [&](State& after) {
    after.nodes[node].copies[object].memory = Memory::kComing;
    after.nodes[node].copies[object].from = Number(From::kDisk);
  });
}

}  // namespace hoplite::sim
