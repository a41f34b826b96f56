#include "store/victims.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ObjectId IdOf(const std::string& name) { return ObjectId::FromName(name); }

// A full segment of ten granules, cut into the sizes given; candidates in order of offset.
struct World {
  explicit World(std::vector<std::pair<std::string, int>> parts) : allocator(10 * 64) {
    for (const auto& [name, granules] : parts) {
      const auto extent = allocator.Allocate(static_cast<std::uint64_t>(granules) * 64);
      candidates.push_back({.object = IdOf(name),
                            .extent = *extent,
                            .relayed = true,
                            .complete = true,
                            .pinned = false});
    }
  }
  std::vector<ObjectId> Victims(int granules) const {
    return PickVictims(candidates, allocator, static_cast<std::uint64_t>(granules) * 64);
  }

  ExtentAllocator allocator;
  std::vector<EvictionCandidate> candidates;
};

TEST(Eviction, TakesTheOldestThatMakesRoom) {
  World world({{"a", 2}, {"b", 4}, {"c", 4}});
  EXPECT_THAT(world.Victims(2), ElementsAre(IdOf("a")));
}

TEST(Eviction, SparesAnOlderOneThatWouldNotHelp) {
  World world({{"a", 2}, {"pinned", 2}, {"b", 6}});
  world.candidates[1].pinned = true;
  EXPECT_THAT(world.Victims(5), ElementsAre(IdOf("b")));
}

TEST(Eviction, JoinsNeighbouringVictimsOldestFirst) {
  World world({{"a", 3}, {"b", 3}, {"c", 4}});
  std::swap(world.candidates[0], world.candidates[1]);  // b is the oldest
  EXPECT_THAT(world.Victims(6), ElementsAre(IdOf("b"), IdOf("a")));
  EXPECT_THAT(world.Victims(10), ElementsAre(IdOf("b"), IdOf("a"), IdOf("c")));
}

TEST(Eviction, CountsTheHolesThatAreThere) {
  World world({{"a", 2}, {"hole", 3}, {"b", 2}, {"c", 3}});
  world.allocator.Free(world.candidates[1].extent);
  world.candidates.erase(world.candidates.begin() + 1);
  EXPECT_THAT(world.Victims(5), ElementsAre(IdOf("a")));
  // The hole lies between both: it is counted once.
  EXPECT_THAT(world.Victims(7), ElementsAre(IdOf("a"), IdOf("b")));
  EXPECT_THAT(world.Victims(8), ElementsAre(IdOf("a"), IdOf("b"), IdOf("c")));
}

TEST(Eviction, NeverTakesPinnedPartialOrPrimaryCopies) {
  const auto expect_spared = [](auto change) {
    World world({{"a", 5}, {"b", 5}});
    change(world.candidates[0]);
    EXPECT_THAT(world.Victims(5), ElementsAre(IdOf("b")));
    EXPECT_THAT(world.Victims(6), IsEmpty());
  };
  expect_spared([](EvictionCandidate& a) { a.relayed = false; });
  expect_spared([](EvictionCandidate& a) { a.complete = false; });
  expect_spared([](EvictionCandidate& a) { a.pinned = true; });
}

TEST(Eviction, AnswersNothingWhenNothingHelps) {
  World world({{"a", 5}, {"b", 5}});
  EXPECT_THAT(world.Victims(11), IsEmpty());
}

}  // namespace
}  // namespace hoplite::store
