// StripeRing: the slots of a reduction by stripes (R64), for an allreduce.
//
// Members stand in a ring. Each stripe is folded once around it, from one member to the next, and
// ends at one of them: every member makes an equal share of the target. So a member has two slots:
//
//   ring   makes the stripes that don't end here: of its own sources and of the ring slot before it
//   root   makes those that end here, of the target: of the same two
//
//   3 members, 6 stripes:            ring A ──▶ ring B ──▶ ring C ──▶ ring A …
//   0 1 end at A, 2 3 at B,               ╲          ╲          ╲
//   4 5 at C; stripe 0 begins at B:        root B     root C     root A
//   ring B ──▶ ring C ──▶ root A           2 3        4 5        0 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/layout.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// Beyond, the hops cost more than a ring saves.
inline constexpr std::size_t kMostInARing = 256;

// Whether so many members make a ring.
bool MakesRing(std::size_t members, const Layout& layout);

// Their orders, numbered from 1: ring slots, then roots. `members` are in the order of the ring;
// whoever asks adds the sources, the same to both slots of a member. With fewer stripes than members
// some have no root. A pure function, O(members).
std::vector<SlotOrder> StripeRing(const std::vector<NodeId>& members, const Layout& layout);

}  // namespace hoplite::planner
