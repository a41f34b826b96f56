// What a reduce tree costs, and so which degree it should have.
#pragma once

#include <cstdint>

#include "base/layout.h"
#include "planner/words.h"

namespace hoplite::planner {

// When the root's last byte is folded, if all sources are there:
//   height × hop(degree) + degree × (size − block) / bandwidth
// since every slot receives from `degree` children over one link.
double ReduceSeconds(std::uint32_t degree, std::uint32_t count, const Layout& layout,
                     const LinkModel& link);

// The degree with the least ReduceSeconds; the smaller one of equals.
std::uint32_t BestReduceDegree(std::uint32_t count, const Layout& layout, const LinkModel& link);

}  // namespace hoplite::planner
