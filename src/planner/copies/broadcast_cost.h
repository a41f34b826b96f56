// What a broadcast costs by a line, a tree or a forest, and so which shape it should have.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/layout.h"
#include "base/time.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// What a link, or a way between sites, counts as while nothing was measured: 100 Mbit/s.
constexpr double kSlowLink = 1.25e7;
// This link, but not a faster one than that: for waits, while nothing was measured. Too short a
// wait costs several nodes much more than too long a one costs one of them.
LinkModel SlowIfGuessed(LinkModel link, bool guessed);

// Levels below the source until degree + degree² + … covers everybody.
std::uint64_t TreeHeight(std::uint64_t degree, std::uint64_t receivers);

// One hop of a pipeline whose sources serve `degree` receivers each: a message and a block.
double HopSeconds(std::uint64_t degree, const Layout& layout, const LinkModel& link);

// When the last of `receivers` has the object, if each holder serves `degree` others at once:
//   height × hop(degree) + degree × (size − block) / bandwidth
// Degree 1 is the pipelined line, degree = receivers the star.
double TreeSeconds(std::uint64_t degree, std::uint64_t receivers, const Layout& layout,
                   const LinkModel& link);

// The most nodes between the source and a receiver in a forest of so many groups: in each of them an
// equal part of the receivers is inner and serves as many others as there are groups, below the one
// that the source serves; the rest are leaves.
std::uint64_t ForestDepth(std::uint64_t groups, std::uint64_t receivers);

// When the last of `receivers` has the object through that forest:
//   depth × hop(groups) + (size − groups × block) / bandwidth
double ForestSeconds(std::uint64_t groups, std::uint64_t receivers, const Layout& layout,
                     const LinkModel& link);

// How long the first pass over a version waits for more receivers: 0 if that is less than one
// message takes.
Duration GatherFor(const Layout& layout, const LinkModel& link);
// How far apart the passes over a version are that very many may ask for: while newcomers get
// their places those who come next are gathered.
Duration SpacePasses(const Layout& layout, const LinkModel& link);
// How long after its first grant a receiver that has less than half hands on its place.
Duration FreshFor(const Layout& layout, const LinkModel& link);
constexpr Duration kLongestFresh = std::chrono::seconds(1);

// How long the bytes of a Give are waited for (R83): four times as long as they take to so many, where
// each node that has them hands them to half of the rest; a second at most.
Duration PatienceOfGive(std::uint64_t bytes, std::uint64_t receivers, const LinkModel& link);

// The degree of {1, 2, 3, 4, 5, 6, 8, 12, 16, receivers} with the least TreeSeconds; the smaller one of equals.
std::uint64_t BestDegree(std::uint64_t receivers, const Layout& layout, const LinkModel& link);

// Into how many groups of stripes the object is to be cut for so many receivers: 1 if a line or tree
// is nearly as good, since more groups are more streams. So many receivers as `always_from` are cut
// whatever the links are like; 0: never so many.
std::uint64_t BestForest(std::uint64_t receivers, const Layout& layout, const LinkModel& link,
                         std::uint64_t always_from = 0);

}  // namespace hoplite::planner
