// DirectoryOptions: the numbers by which a shard decides: limits, patience, what links are like. All
// have defaults that suit a cluster; simulations and tests vary them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "planner/words/without.h"
#include "planner/words/words.h"

namespace hoplite::planner {

struct DirectoryOptions {
  // Identifies this life of the shard: max(start time in µs, highest that any node reports + 1).
  std::uint64_t incarnation = 1;
  // Objects up to this size with bytes in their Create live in the directory.
  std::uint64_t inline_limit_bytes = 16 * 1024;
  std::uint64_t inline_total_bytes = 256 * 1024 * 1024;
  // Of their bytes so many may stand before the shard's link, or what links carry in that time: more
  // leave once, and go on from node to node (R83). That way they come some hundred microseconds
  // later: hence a few times that.
  std::uint64_t inline_ahead_bytes = 64 * 1024;
  Duration inline_ahead = std::chrono::milliseconds(2);
  // Of smaller ones the messages cost more than the bytes: they leave no holder for that (R83).
  std::uint64_t holder_gives_from_bytes = 4 * 1024;
  // Whoever is to get an object that way waits so long at least before the shard sends it (R83).
  Duration give_patience = std::chrono::milliseconds(20);
  std::uint64_t metadata_limit_bytes = 4096;
  Duration tombstone = std::chrono::seconds(60);
  // A client of a node that was lost, or that died, still owns what it owned for so long.
  Duration orphan_grace = std::chrono::seconds(30);
  // Before owners that the shard cannot know of are given up: lease, grace and orphan grace.
  Duration unknown_owners = std::chrono::seconds(32);
  // So many ids one node may own.
  std::size_t owned_limit = 1'000'000;
  // So many registers one node may have open.
  std::size_t register_limit = 100'000;
  // After its start the shard only collects inventories for so long; 0 for a cluster known to be
  // new. Longer while a node tells its inventory, and was heard within this time; the limit ends it
  // in any case.
  Duration recovery_window = std::chrono::seconds(1);
  Duration recovery_limit = std::chrono::seconds(60);
  // A receiver that complained about a source is not sent there again for so long.
  Duration keep_apart = std::chrono::seconds(1);
  // A receiver keeps its source so long before another one may be worth a move: what comes
  // from there is not known earlier.
  Duration keeps_source = std::chrono::milliseconds(60);
  // A receiver whose source makes no progress for so long is moved to a free complete one.
  Duration starved_after = std::chrono::seconds(1);
  // What links are like until they were measured; `guessed`: nobody said so.
  LinkModel link{.guessed = true};
  // Tests and simulations: a version for which so many wait who have nothing becomes a forest,
  // whatever the links are like. 0: if that pays.
  std::uint64_t forest_from = 0;
  Without without;
  // So many objects one Plan looks at; what is left is due at once.
  std::size_t slice = 1000;
};

}  // namespace hoplite::planner
