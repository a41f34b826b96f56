// Random orders of steps in random small worlds of up to six nodes, in which a FETCH may be on its way
// as long as a walk takes. A failure prints its steps; its seed plays it again (testing/histories.h).
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "sim/kit/random.h"
#include "sim/small_world/search.h"
#include "testing/histories.h"

namespace hoplite::sim {
namespace {

// Receivers move from source to source, or join others' objects.
SmallOptions DrawWorld(std::uint64_t seed) {
  Random random(seed * 15485867);
  const auto one_of = [&random](std::uint64_t many) { return random.Below(many) == 0; };
  SmallOptions options;
  options.nodes = static_cast<std::uint32_t>(3 + random.Below(4));
  options.blocks = static_cast<std::uint32_t>(1 + random.Below(4));
  options.stripes = static_cast<std::uint32_t>(1 + random.Below(2));
  options.stripes = std::min(options.stripes, options.blocks);
  options.deaths = static_cast<std::uint32_t>(random.Below(3));
  options.restarts = one_of(2) ? 1 : 0;
  options.growing = !one_of(4);
  options.unequal = options.growing && one_of(2);
  options.slow_link = one_of(2);
  options.two_sites = one_of(3);
  options.joins = one_of(4);
  options.room = one_of(4);
  options.loses_room = options.room && one_of(2);
  options.waits_for_memory = one_of(8);
  // A shard that has started again hears of a deletion from who keeps its mark, perhaps too late.
  options.deletes = one_of(8) && options.restarts == 0;
  options.put_again = options.deaths > 0 && one_of(4);
  options.asks_again = one_of(8);
  options.looks_on = one_of(8);
  if (one_of(6)) {
    options.cut = SmallCut{.receiver = static_cast<std::uint32_t>(random.Below(options.nodes)),
                           .source = static_cast<std::uint32_t>(random.Below(options.nodes)),
                           .both_ways = one_of(2),
                           .late = one_of(2),
                           .heals = one_of(2)};
  }
  return options;
}

TEST(Walks, KeepEveryProperty) {
  std::uint64_t rests = 0;
  const test::Seeds seeds = test::SeedsOf(1, 10'000);
  for (std::uint32_t i = 0; i < seeds.count; ++i) {
    const std::uint64_t seed = seeds.first + i;
    const SearchResult result = Walk(DrawWorld(seed), seed);
    ASSERT_EQ(result.violation, "") << "seed " << seed << ": " << result.ToString();
    rests += result.rests;
  }
  EXPECT_GE(rests, seeds.count);  // each came to an end
}

}  // namespace
}  // namespace hoplite::sim
