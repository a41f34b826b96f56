// StripeRing: the slots of a reduction by stripes (R64), for an allreduce.
//
// Members stand in a ring. Each stripe is folded once around it, from one member to the next, and
// ends at one of them: every member makes an equal share of the target. So a member has two slots:
//
//   ring   makes the stripes that don't end here: of its own sources and of the ring slot before it
//   root   makes those that end here, of the target: of the same two, and of every leaf
//
// Sources whose nodes have no memory for two results are leaves: every root pulls its share of each.
// A leaf that comes, goes or is replaced starts the roots again, and no ring slot.
//
//   3 members, 6 stripes:            ring A ──▶ ring B ──▶ ring C ──▶ ring A …
//   0 1 end at A, 2 3 at B,               ╲          ╲          ╲
//   4 5 at C; stripe 0 begins at B:        root B     root C     root A ◀── leaf (and root B, C)
//   ring B ──▶ ring C ──▶ root A           2 3        4 5        0 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/words.h"

namespace hoplite::planner {

// Beyond, the hops cost more than a ring saves.
inline constexpr std::size_t kMostInARing = 256;

// Whether so few sources are on nodes without memory that the others may make the sum by stripes. Two
// members need all sources, more may do with a few leaves: of each of these the whole object is pulled
// over one link, whatever the members do.
bool FewAreLeaves(std::size_t members, std::size_t leaves);
// Whether so many members and leaves make a ring.
bool MakesRing(std::size_t members, std::size_t leaves, const Layout& layout);

// Their orders, numbered from 1: ring slots, roots, leaves, the last ones vacant. `members` are in
// the order of the ring; whoever asks adds the sources, the same to both slots of a member. With
// fewer stripes than members some have no root. A pure function, O(members × leaves).
std::vector<SlotOrder> StripeRing(const std::vector<NodeId>& members, std::size_t leaves,
                                  const Layout& layout);

}  // namespace hoplite::planner
