// Time, and the properties: one value for each number, one writer, nobody steps back, everybody is answered.
#include <algorithm>

#include <fmt/format.h>

#include "sim/session_world/register_world.h"

namespace hoplite::sim {

// Another may have followed the writer of a node that is away, or been told that it is gone.
void RegisterWorld::TimePassed() {
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (Unheard(NodeOf(i), kGrace)) clients_[i].promised = false;
  }
}

// The shard spoke of this entry.
void RegisterWorld::NoteWrite(const protocol::RegisterContents& entry) {
  if (!entry.version) return;
  const auto [known, fresh] = values_.emplace(entry.version, entry.value);
  if (!fresh && known->second != entry.value) {
    Fail(fmt::format("safety: number {} is of {} and of {}", hoplite::ToString(entry.version),
                     known->second, entry.value));
  }
  const bool of_a = entry.value.starts_with('A');
  if (fresh && of_a && clients_[kB].promised) {
    Fail("safety: a write of A is done, and B had heard that it is the writer");
  }
  b_claimed_ = b_claimed_ || entry.value.starts_with('B');
}

// A shard that started since, or gave up the node, need not know.
bool RegisterWorld::WasDone(std::uint32_t index) const {
  if (incarnation_ > 1 || nodes_[NodeOf(index)].lost) return false;
  const std::string value = ValueOf(index, clients_[index].written);
  return std::ranges::any_of(values_, [&](const auto& one) { return one.second == value; });
}

void RegisterWorld::CheckRead(std::uint32_t index,
                              const planner::RegisterState::Answered& answered) {
  const Client& client = clients_[index];
  const Version version = answered.entry.version;
  if (answered.outcome == planner::RegisterState::Outcome::kNoWriter) return CheckNoWriter(index);
  const bool back = index == kBesideA ? version < client.base : version <= client.base;
  if (back) {
    Fail(fmt::format("safety: client {} had {}, and gets {}", index, hoplite::ToString(client.base),
                     hoplite::ToString(version)));
  }
  if (index == kBesideA && version < client.floor && Known(client.floor)) {
    Fail(fmt::format("safety: client {} asked when {} was acknowledged or read, and gets {}", index,
                     hoplite::ToString(client.floor), hoplite::ToString(version)));
  }
}

bool RegisterWorld::Known(Version version) const {
  for (std::uint32_t i = 0; i < nodes(); ++i) {
    const protocol::RegisterContents* known = nodes_[i].registers.Known(name_);
    if (sessions_[i].told && known != nullptr && known->version >= version) return true;
  }
  return false;
}

// Whoever is a writer was one before the question, and since.
void RegisterWorld::CheckNoWriter(std::uint32_t index) {
  for (const std::uint32_t writer : {kA, kB}) {
    const bool followed = writer == kA && b_claimed_;
    if (clients_[writer].promised && clients_[index].promised_then.at(writer) && !followed) {
      Fail(fmt::format("safety: client {} hears that no writer is left, client {} is one", index,
                       writer));
    }
  }
}

void RegisterWorld::CheckAtRest() {
  Version newest;
  Version claim;
  const auto shard = shard_.Register(name_);
  const auto note = [&](const protocol::RegisterContents& entry) {
    newest = std::max(newest, entry.version);
    claim = std::max(claim, entry.claim);
  };
  if (shard) note(shard->entry);
  for (const Node& node : nodes_) {
    const protocol::RegisterContents* known = node.registers.Known(name_);
    if (known != nullptr) note(*known);
  }
  bool writer = false;
  bool open = false;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Client& client = clients_[i];
    open = open || client.state != State::kClosed;
    const Version claimed = nodes_[NodeOf(i)].registers.ClaimOf(i, name_);
    writer = writer || (claimed && claimed == claim);
    if (client.state == State::kWrites || client.state == State::kClaims) {
      Fail(fmt::format("liveness: client {} never hears of its write", i));
    }
  }
  for (std::uint32_t i = 0; i < kClients; ++i) {
    const Client& client = clients_[i];
    if (client.state != State::kWaits) continue;
    if (newest > client.base || i == kBesideA) {
      Fail(fmt::format("liveness: client {} waits for what is there", i));
    }
    if (!writer && claim) Fail(fmt::format("liveness: client {} waits, no writer is left", i));
  }
  if (open && (!shard || shard->entry.version < newest)) {
    Fail("liveness: a node knows a number that the shard does not");
  }
  if (shard && shard->writer != writer) Fail("liveness: the shard is wrong about the writer");
  if (!open && shard) Fail("liveness: everybody has closed it, and the register stays");
}

}  // namespace hoplite::sim
