// What a reduce tree costs, and so which degree it should have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/layout.h"
#include "base/time.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// When the root's last byte is folded, if all sources are there:
//   height × hop(degree) + degree × (size − block) / bandwidth
// since every slot receives from `degree` children over one link.
double ReduceSeconds(std::uint32_t degree, std::uint32_t count, const Layout& layout,
                     const LinkModel& link);

// Whether a reduction whose members read the target is done sooner by stripes (stripe_ring.h) than in
// a tree, all else being fit for it: a member's share has to take at least two hops of a line,
//   size / (members × bandwidth) >= 2 × hop(1)
// since a stripe goes twice around the ring, while the members' shares take turns on each link.
bool RingPays(std::size_t members, const Layout& layout, const LinkModel& link);

// Whether such a reduction is done sooner in two trees (two_trees.h), whose members send and receive
// the object once and stand behind few others, than in the best single tree:
//   ForestSeconds(2, members − 1) < ReduceSeconds(BestReduceDegree)
bool TwoTreesPay(std::size_t members, const Layout& layout, const LinkModel& link);

// How long the first plan of such a reduction waits for sources, since whoever comes later makes the plan
// a tree:
//   min(100 ms, 5 % of size / bandwidth), but at least a message
// from the last one on that came, and three times that, but no more than 100 ms, from the first one
// on. A rate that is a guess counts as 100 Mbit/s at most.
struct RingWaits {
  Duration from_last{};
  Duration from_first{};
};
RingWaits RingWaitsFor(const Layout& layout, const LinkModel& link);

// The degree with the least ReduceSeconds; the smaller one of equals.
std::uint32_t BestReduceDegree(std::uint32_t count, const Layout& layout, const LinkModel& link);

}  // namespace hoplite::planner
