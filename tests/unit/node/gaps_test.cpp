#include "node/local/gaps.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite::node {
namespace {

std::uint64_t LargestOf(const std::vector<bool>& taken) {
  std::uint64_t largest = 0;
  std::uint64_t length = 0;
  for (const bool one : taken) largest = std::max(largest, length = one ? 0 : length + 1);
  return largest;
}

TEST(GapsTest, ARangeOfWhichNothingIsTakenIsOne) {
  EXPECT_EQ(Gaps(0).largest(), 0u);
  EXPECT_EQ(Gaps(10).largest(), 10u);
}

TEST(GapsTest, AreWhatIsLeftWhateverIsTakenAlsoTwice) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Gaps gaps(64);
    std::vector<bool> taken(64);
    for (int piece = 0; piece < 20; ++piece) {
      const std::uint64_t begin = random() % 64;
      const std::uint64_t end = std::min<std::uint64_t>(64, begin + random() % 8);
      gaps.Take(begin, end);
      for (std::uint64_t at = begin; at < end; ++at) taken[at] = true;
      ASSERT_EQ(gaps.largest(), LargestOf(taken)) << "round " << round << ", piece " << piece;
    }
  }
}

}  // namespace
}  // namespace hoplite::node
