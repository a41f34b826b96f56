// Reductions that are divided by stripes among a ring of nodes, as text, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/status.h>

namespace hoplite::cli {

// Whether each stripe has a root of its own, instead of all of them one, and each slot folds one
// other's output at most. (Two trees have two roots, and are drawn as trees.)
bool IsRing(const std::vector<SlotInfo>& slots);

// The ring of a reduction into an object of this size. Each member, above the one that it feeds (the
// last one feeds the first): how many sources it has, how many stripes it passes on to the next one
// and makes of the target, and how much of them is there (a share; bytes while the size is 0, not
// known).
//   ┌──▶ n2  1 source, passes on 48 of 64 stripes: 30 %, makes 16: 10 %
//   │    n3  1 source, passes on 48 of 64 stripes: 40 %, makes 16: 15 %
//   └─── n1  1 source, passes on 32 of 64 stripes: 80 %, makes 32: 70 %
std::vector<std::string> DrawRing(const std::vector<SlotInfo>& slots, std::uint64_t size_bytes);

}  // namespace hoplite::cli
