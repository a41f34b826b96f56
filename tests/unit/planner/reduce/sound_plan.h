// Whether the orders of a reduction make a sum of each source exactly once, whatever their shape.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "planner/words/words.h"

namespace hoplite::planner {

using SlotPlan = std::map<std::uint32_t, SlotOrder>;  // by slot

// Empty, or what is wrong in words. Of each stripe: whoever makes it feeds one other that makes it, or
// is the one root; nobody feeds itself; each source is folded once, and those of one stripe are those
// of any other. Each slot knows how many feed it. Vacant slots have no sources yet, but a place.
std::string WrongWith(const SlotPlan& plan, const Layout& layout);

// "4: A 01 to 5 6, fed by 1", each: node A makes stripes 0 and 1 (of the first ten) for slots 5 and 6.
std::vector<std::string> InWords(const std::vector<SlotOrder>& orders);

// Of all stripes, if nothing is wrong.
std::size_t SourcesIn(const SlotPlan& plan);

}  // namespace hoplite::planner
