// Time, and the properties: an id is not deleted under its owner, and goes with the last one.
#include <algorithm>

#include <fmt/format.h>

#include "sim/session_world/owner_world.h"

namespace hoplite::sim {
namespace {

constexpr Duration kLongestOutage = std::chrono::seconds(45);
constexpr Duration kLongest = std::chrono::seconds(200);  // longer than anything that is waited for

}  // namespace

Time OwnerWorld::NextOfNodes() const {
  Time next = SessionWorld::NextOfNodes();
  for (const Node& node : nodes_) next = std::min(next, node.owners.next());
  return next;
}

// While a node tells its inventory the shard asks to be called again and again: only a call that
// changes something counts.
Time OwnerWorld::NextChange() const {
  const Time latest = now_ + kLongest;
  const Time of_nodes = NextOfNodes();
  const Time next = of_nodes < latest ? of_nodes : kNever;
  if (plan_at_ == kNever) return next;
  planner::DirectoryState shard = shard_;
  const std::uint64_t changes = shard.changes();
  const bool collecting = shard.collecting();
  std::vector<planner::Action> actions;
  for (Time at = plan_at_; at < std::min(next, latest);) {
    const Time again = shard.Plan(at, actions);
    if (shard.changes() != changes || shard.collecting() != collecting) return at;
    if (again == kNever) break;
    at = std::max(again, at + Duration{1});
  }
  return next;
}

// Outages are shorter than tombstones, and what nodes note of owned ids ends while all have sessions.
bool OwnerWorld::MayPass(Time until) const {
  const auto away = [](const Session& session) { return session.alive && !session.open; };
  if (std::ranges::none_of(sessions_, away)) return true;
  const bool long_outage = std::ranges::any_of(sessions_, [&](const Session& session) {
    return away(session) && until - session.away_since >= kLongestOutage;
  });
  const bool note_ends = std::ranges::any_of(nodes_, [&](const Node& node) {
    return node.owners.Inventory(object_, now_) && !node.owners.Inventory(object_, until);
  });
  return !long_outage && !note_ends;
}

void OwnerWorld::TimePassed() {
  for (std::uint32_t i = 0; i < nodes(); ++i) {
    planner::OwnershipState::Effects effects;
    nodes_[i].owners.Wake(now_, effects);
    Effect(i, effects);
  }
  for (std::uint32_t i = 0; i < kClients; ++i) {
    // A shard that started again knows no grace of a node that is away.
    Duration grace = options_.calls[i].grace.value_or(kOrphanGrace);
    if (incarnation_ > 1) grace = std::min(grace, kOrphanGrace);
    const bool away = Unheard(NodeOf(i), kGrace + grace);
    if (away && clients_[i] == Client::kOwns) clients_[i] = Client::kLapsed;
  }
}

void OwnerWorld::CheckStep() {
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (clients_[i] == Client::kOwns && shard_.Owners(object_).deleted) {
      Fail(fmt::format("safety: the id was deleted, and client {} owns it", i));
    }
  }
}

void OwnerWorld::CheckAtRest() {
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (clients_[i] == Client::kAsked) {
      Fail(fmt::format("liveness: client {} is never answered", i));
    }
  }
  const bool owned = std::ranges::any_of(
      clients_, [](Client client) { return client == Client::kOwns || client == Client::kLapsed; });
  const bool copies =
      std::ranges::any_of(nodes_, [](const Node& node) { return node.copy.has_value(); });
  const bool told = std::ranges::any_of(nodes_, &Node::ever_owned);
  if (!owned && !copies && nodes_[1].read == Read::kWaits && sessions_[1].alive) {
    Fail("liveness: nobody owns the id, and somebody waits for it");
  }
  if (owned || !ever_) return;
  // Not promised: who owned it died together with the shard, before any holder heard that it is
  // owned.
  if (incarnation_ > 1 && died_ && !told) return;
  if (copies) Fail("liveness: nobody owns the id, and a copy stays");
  if (shard_.Owners(object_).ever_owned) {
    Fail("liveness: nobody owns the id, and the shard does not know");
  }
}

}  // namespace hoplite::sim
