// What an object at rest costs its shard: the figure in docs/operations.md comes from
// bench/parts/memory_per_object.cpp, this keeps it.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

TEST(PlannerMemory, ASmallObjectWithOneHolderCostsHalfAKibibyte) {
  constexpr std::size_t kObjects = 20'000;
  // A chunk that malloc can't split is up to 16 bytes longer than what was asked for: how many are
  // depends on what was freed before, and moves the average by some bytes.
  constexpr std::size_t kBound = 530;
  DirectoryOptions options;
  options.recovery_window = Duration{0};
  DirectoryState state(options, Time{});
  state.Apply({Time{}, NodeJoined{{NodeId(1), "n1", "x:1"}, 0}});
  state.Apply({Time{}, NodeSaid{NodeId(1), InventoryEnd{}}});
  const std::size_t before = ::mallinfo2().uordblks;
  if (before == 0) GTEST_SKIP() << "a sanitizer's allocator doesn't count";
  {
    std::vector<Action> actions;
    for (std::size_t i = 0; i < kObjects; ++i) {
      const auto bytes = std::make_shared<const std::string>(16, 'x');
      const ObjectId id = ObjectId::Random();  // names are remembered elsewhere
      state.Apply({Time{}, NodeSaid{NodeId(1), Create{id, Layout::For(16), "", bytes}}});
    }
    while (state.Plan(Time{}, actions) <= Time{}) {
    }
    ASSERT_EQ(actions.size(), kObjects);
  }
  ASSERT_EQ(state.Shard().objects, kObjects);
  EXPECT_LT((::mallinfo2().uordblks - before) / kObjects, kBound);
}

}  // namespace
}  // namespace hoplite::planner
