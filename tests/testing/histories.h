// How many random histories a test plays, and from which seed on; which of the long searches a run plays.
// `HOPLITE_EIGHTH=K` says the K-th eighth of them: scripts/test.sh takes another one for each commit.
// `HOPLITE_SEEDS=FIRST+COUNT` says other ones, for who looks for what no test has met.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

namespace hoplite::test {

inline std::optional<std::uint32_t> Eighth() {
  const char* eighth = std::getenv("HOPLITE_EIGHTH");
  if (eighth == nullptr) return std::nullopt;
  return static_cast<std::uint32_t>(std::atoi(eighth)) % 8;
}

struct Seeds {
  std::uint32_t first;
  std::uint32_t count;
};

inline std::optional<Seeds> OtherSeeds() {
  const char* const said = std::getenv("HOPLITE_SEEDS");
  Seeds seeds{};
  if (said == nullptr || std::sscanf(said, "%u+%u", &seeds.first, &seeds.count) != 2) return {};
  return seeds;
}

// What this run plays of the seeds from `first` on: all of them, or an eighth, which is enough to
// say something of them from a hundred on.
inline Seeds SeedsOf(std::uint32_t first, std::uint32_t all) {
  if (const std::optional<Seeds> others = OtherSeeds()) return *others;
  if (!Eighth() || all < 100) return {first, all};
  return {first + *Eighth() * (all / 8), all / 8};
}

// Whether this run plays the search that is being tested; it is skipped with a word otherwise.
inline bool ItsTurn() {
  std::uint32_t sum = 0;
  for (const char c :
       std::string_view(testing::UnitTest::GetInstance()->current_test_info()->name())) {
    sum += static_cast<unsigned char>(c);
  }
  return !Eighth() || sum % 8 == *Eighth();
}
constexpr std::string_view kNotItsTurn =
    "another eighth of the searches; scripts/test.sh --all plays all";

}  // namespace hoplite::test
