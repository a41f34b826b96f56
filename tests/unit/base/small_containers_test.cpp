// Containers that cost little while they hold little behave as the ones that they stand for.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/boxed.h"
#include "base/one_or_set.h"
#include "base/paged_set.h"
#include "base/small_set.h"
#include "base/stripe_marks.h"

namespace hoplite {
namespace {

template <typename Set>
std::vector<int> Elements(const Set& set) {
  std::vector<int> elements;
  for (const int element : set) elements.push_back(element);
  return elements;
}

std::vector<int> Elements(const PagedSet<int>& set) {
  std::vector<int> elements;
  set.ForEach([&](int element) { elements.push_back(element); });
  return elements;
}

// Of so many different values, first mostly inserted, then mostly erased.
template <typename Set>
void BehavesAsASet(std::uint32_t seed, std::uint32_t values) {
  std::mt19937 random(seed);
  const int changes = static_cast<int>(40 * values);
  Set set;
  std::set<int> model;
  for (int i = 0; i < changes; ++i) {
    const int value = static_cast<int>(random() % values);
    if (random() % 4 < (i < changes / 2 ? 3 : 1)) {
      set.insert(value);
      model.insert(value);
    } else {
      set.erase(value);
      model.erase(value);
    }
    ASSERT_EQ(set.contains(value), model.contains(value));
    ASSERT_EQ(set.size(), model.size());
    ASSERT_EQ(set.empty(), model.empty());
    ASSERT_EQ(Elements(set), Elements(model));
    const Set copy = set;
    Set moved = copy;
    set = std::move(moved);
    ASSERT_EQ(Elements(set), Elements(copy));
  }
}

TEST(SmallSet, BehavesAsASet) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) BehavesAsASet<SmallSet<int>>(seed, 8);
}

TEST(PagedSet, BehavesAsASet) {
  for (std::uint32_t seed = 0; seed < 2; ++seed) BehavesAsASet<PagedSet<int>>(seed, 300);
}

TEST(PagedSet, ItsFirstElementIsTheLeast) {
  PagedSet<int> set;
  for (int value = 1000; value > 0; --value) {
    set.insert(value);
    ASSERT_EQ(set.front(), value);
  }
  for (int value = 1; value < 1000; ++value) {
    ASSERT_EQ(set.erase(value), 1U);
    ASSERT_EQ(set.front(), value + 1);
  }
}

TEST(OneOrSet, OneElementLooksAsASetOfOne) {
  using Look = OneOrSet<int>;
  const std::set<int> none;
  const std::set<int> one{3};
  EXPECT_TRUE(Look().empty() && Look(none).empty());
  EXPECT_TRUE(std::ranges::equal(Look(), Look(none)));
  EXPECT_FALSE(Look(3).empty() || Look(one).empty());
  for (const Look& look : {Look(3), Look(one)}) {
    EXPECT_EQ(Elements(look), std::vector<int>{3});
    for (const int value : {2, 3}) EXPECT_TRUE(look.lower_bound(value) == look.begin());
    EXPECT_TRUE(look.lower_bound(4) == look.end());
  }
}

TEST(StripeMarks, AreAnArrayOfAnySize) {
  static_assert(sizeof(StripeMarks) == 2 * sizeof(void*));
  for (const std::size_t stripes : {0, 1, 2, 3, 64}) {
    StripeMarks marks(stripes, 5);
    EXPECT_EQ(std::vector<std::uint32_t>(marks.begin(), marks.end()),
              std::vector<std::uint32_t>(stripes, 5));
    StripeMarks copy = marks;
    EXPECT_TRUE(copy == marks);
    for (std::uint32_t& mark : copy) mark = 6;
    EXPECT_EQ(copy == marks, stripes == 0);
    for (StripeMarks other : {StripeMarks(), StripeMarks{1, 2}, StripeMarks{1, 2, 3}}) {
      other = copy;
      EXPECT_TRUE(other == copy);
      other = std::move(marks);
      marks = other;
      EXPECT_TRUE(other == StripeMarks(stripes, 5));
    }
  }
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
