// The properties: an id is not deleted under its owner, and goes with the last one.
#include <algorithm>

#include <fmt/format.h>

#include "sim/owner_world/owner_world.h"

namespace hoplite::sim {

void OwnerWorld::Fail(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

void OwnerWorld::Check() {
  Fail(shard_.BrokenInvariant());
  if (shard_.Owners(object_).deleted) {
    for (std::uint32_t i = 0; i < kClients; ++i) {
      if (clients_[i] == Client::kOwns) {
        Fail(fmt::format("safety: the id was deleted, and client {} owns it", i));
      }
    }
  }
  if (violation_.empty() && AtRest()) CheckAtRest();
}

void OwnerWorld::CheckAtRest() {
  for (std::uint32_t i = 0; i < kClients; ++i) {
    if (clients_[i] == Client::kAsked) {
      Fail(fmt::format("liveness: client {} is never answered", i));
    }
  }
  const bool owned = std::ranges::any_of(
      clients_, [](Client client) { return client == Client::kOwns || client == Client::kLapsed; });
  const Copies left = CopiesLeft();
  if (!owned && !left.any && nodes_[1].read == Read::kWaits && nodes_[1].alive) {
    Fail("liveness: nobody owns the id, and somebody waits for it");
  }
  if (owned || !ever_) return;
  // Not promised: who owned it died together with the shard, before any holder heard that it is
  // owned.
  if (restarted_ && died_ && !left.told) return;
  if (left.any) Fail("liveness: nobody owns the id, and a copy stays");
  if (shard_.Owners(object_).ever_owned) {
    Fail("liveness: nobody owns the id, and the shard does not know");
  }
}

OwnerWorld::Copies OwnerWorld::CopiesLeft() const {
  Copies left;
  for (const Node& node : nodes_) {
    if (!node.alive || !node.copy) continue;
    left.any = true;
    left.told = left.told || node.ever_owned;
  }
  return left;
}

}  // namespace hoplite::sim
