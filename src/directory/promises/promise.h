// What the members of a shard ask each other, as values (R110 to R115 in
// sim/session_world/README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/time.h"

namespace hoplite::directory {

// A member's place in the list of its shard's members, which is the same everywhere.
using MemberPlace = std::uint32_t;

// A promise of one tenure is kept for 2 % longer, since clocks run at different rates.
constexpr Duration KeptFor(Duration tenure) { return tenure + tenure / 50; }

// What a shard's holder leaves to its successor.
struct ShardNames {
  std::uint64_t shard_id = 0;   // 0: the shard has none yet
  std::set<NodeId> nodes = {};  // welcomed and not lost, or waited for
  bool complete = false;        // they are all
  friend bool operator==(const ShardNames&, const ShardNames&) = default;
};

// A life of the shard, and the member whose life it is.
struct ShardLife {
  std::uint64_t life = 0;  // 0: none
  MemberPlace member = 0;
  friend bool operator==(const ShardLife&, const ShardLife&) = default;
};

struct PromiseAsk {
  ShardLife wants = {};
  std::uint64_t round = 0;  // the answer names it
  bool holds = false;       // a majority has promised this life; else the question is a claim
  ShardNames names = {};    // of a holder
};

struct PromiseAnswer {
  std::uint64_t life = 0;   // that was asked for
  std::uint64_t round = 0;  // of the question
  bool promised = false;
  std::uint64_t highest = 0;  // of the lives that this voter was asked for
  ShardLife holder = {};      // the newest that held, as this voter knows
  ShardNames names = {};      // of that holder; only with a promise to a claimant
};

}  // namespace hoplite::directory
