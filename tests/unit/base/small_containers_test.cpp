// Containers that cost little while they hold little behave as the ones that they stand for.
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/boxed.h"
#include "base/one_or_set.h"
#include "base/small_set.h"

namespace hoplite {
namespace {

template <typename Set>
std::vector<int> Elements(const Set& set) {
  std::vector<int> elements;
  for (const int element : set) elements.push_back(element);
  return elements;
}

template <typename Set>
void BehavesAsASet(std::uint32_t seed) {
  std::mt19937 random(seed);
  Set set;
  std::set<int> model;
  for (int i = 0; i < 300; ++i) {
    const int value = static_cast<int>(random() % 8);
    if (random() % 2 == 0) {
      set.insert(value);
      model.insert(value);
    } else {
      set.erase(value);
      model.erase(value);
    }
    if constexpr (requires { set.Shrink(); }) {
      if (random() % 4 == 0) set.Shrink();
      const auto here = set.lower_bound(value);
      const auto there = model.lower_bound(value);
      ASSERT_EQ(here == set.end(), there == model.end());
      if (there != model.end()) ASSERT_EQ(*here, *there);
    } else {
      ASSERT_EQ(set.contains(value), model.contains(value));
      ASSERT_EQ(set.size(), model.size());
    }
    ASSERT_EQ(Elements(set), Elements(model));
    ASSERT_EQ(set.empty(), model.empty());
    const Set copy = set;
    Set moved = copy;
    set = std::move(moved);
    ASSERT_TRUE(set == copy);
  }
}

TEST(SmallSet, BehavesAsASet) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) BehavesAsASet<SmallSet<int>>(seed);
}

TEST(OneOrSet, BehavesAsASet) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) BehavesAsASet<OneOrSet<int>>(seed);
}

TEST(SmallSet, CopiesAreTheirOwn) {
  SmallSet<int> set;
  for (const int value : {5, 1, 3}) set.insert(value);
  SmallSet<int> copy = set;
  copy.erase(3);
  EXPECT_EQ(Elements(set), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(Elements(copy), (std::vector<int>{1, 5}));
  EXPECT_EQ(Elements(std::exchange(set, {})), (std::vector<int>{1, 3, 5}));
  EXPECT_TRUE(set.empty());
}

TEST(Boxed, IsAnOptionalThatCostsOnePointer) {
  static_assert(sizeof(Boxed<std::string>) == sizeof(void*));
  Boxed<std::string> box;
  EXPECT_FALSE(box);
  EXPECT_EQ(box.OrEmpty(), "");
  box.Make() = "text";
  const Boxed<std::string> copy = box;
  *box += ", more";
  EXPECT_EQ(*copy, "text");
  EXPECT_EQ(box.OrEmpty(), "text, more");
  box.DropIfEmpty();
  EXPECT_TRUE(box);
  box->clear();
  box.DropIfEmpty();
  EXPECT_FALSE(box);
  box = std::string("again");
  EXPECT_EQ(*std::exchange(box, std::nullopt), "again");
  EXPECT_FALSE(box);
}

}  // namespace
}  // namespace hoplite
