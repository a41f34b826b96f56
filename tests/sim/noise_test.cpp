// Noise of hosts and networks: what each kind does, and that a history with it is as deterministic as
// one without.
#include "sim/kit/noise.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/units.h"
#include "played.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kHeardAfter = microseconds(100);

// Eight hosts of 50 Mbit/s, of whom one asks after the other.
Options Staggered() {
  Options options{.size_bytes = 8_MiB, .bytes_per_second = 6'250'000};
  options.apart = milliseconds(150);
  return options;
}

// The same seed gives the same history, which is another one than without noise.
void ExpectDeterministic(const Options& noisy) {
  const Report first = Played(noisy);
  EXPECT_EQ(first.digest, Played(noisy).digest) << first.replay;
  EXPECT_EQ(first.completed, noisy.nodes - 1) << first.replay;
  Options quiet = noisy;
  quiet.noise = {};
  EXPECT_NE(first.digest, Played(quiet).digest) << first.replay;
}

// --- late words

TEST(Lateness, WithoutNoiseWordsTakeOneLatency) {
  Lateness lateness(Duration{0}, kHeardAfter, 1);
  EXPECT_EQ(lateness.Hears(3, Time{}), Time{} + kHeardAfter);
  EXPECT_EQ(lateness.Sees(3, Time{}), Time{} + kHeardAfter);
}

TEST(Lateness, AFewWordsAreLateAndTheOthersALittle) {
  const Duration late = milliseconds(80);
  Lateness lateness(late, kHeardAfter, 1);
  int much = 0;
  for (int i = 0; i < 1000; ++i) {
    const Time said = Time{} + i * 2 * late;
    const Duration after = lateness.Hears(0, said) - said - kHeardAfter;
    ASSERT_GE(after, Duration{0});
    ASSERT_LE(after, late);
    much += after > late / 8 ? 1 : 0;
  }
  EXPECT_GT(much, 150);
  EXPECT_LT(much, 290);
}

TEST(Lateness, WordsOfOneNodeStayInOrder) {
  Lateness lateness(milliseconds(80), kHeardAfter, 1);
  std::vector<Time> heard;
  for (int i = 0; i < 1000; ++i) heard.push_back(lateness.Hears(0, Time{} + i * milliseconds(1)));
  EXPECT_TRUE(std::ranges::is_sorted(heard));
  // The end of its session is seen after all of them; another node waits for none.
  EXPECT_GE(lateness.Sees(0, Time{} + milliseconds(1000)), heard.back());
  EXPECT_LT(lateness.Hears(1, Time{}), Time{} + milliseconds(81));
}

TEST(Lateness, WordsOfANewLifeWaitForNoneOfTheOldOne) {
  Lateness lateness(milliseconds(80), kHeardAfter, 1);
  while (lateness.Hears(0, Time{}) < Time{} + milliseconds(60)) continue;
  lateness.Forget();
  EXPECT_EQ(lateness.Sees(0, Time{}), Time{} + kHeardAfter);
}

TEST(Noise, LateWordsAreDeterministic) {
  Options options = Staggered();
  options.noise.late = milliseconds(60);
  ExpectDeterministic(options);
}

TEST(Noise, StallsAreDeterministic) {
  Options options = Staggered();
  options.noise.stall_chance = 0.1;
  options.noise.stall = milliseconds(50);
  ExpectDeterministic(options);
}

TEST(Noise, BurstsAreDeterministic) {
  Options options = Staggered();
  options.noise.burst_bytes = 128'000;
  ExpectDeterministic(options);
}

TEST(Noise, UnfairSharesAreDeterministic) {
  Options options = Staggered();
  options.noise.unfair = 2;
  ExpectDeterministic(options);
}

TEST(Noise, SlowBeginningsAreDeterministic) {
  Options options = Staggered();
  options.noise.begins = milliseconds(100);
  ExpectDeterministic(options);
}

TEST(Noise, AllKindsTogetherKeepEveryProperty) {
  Options options = Staggered();
  options.noise = {.late = milliseconds(30),
                   .stall_chance = 0.05,
                   .stall = milliseconds(50),
                   .burst_bytes = 128'000,
                   .unfair = 2,
                   .begins = milliseconds(50)};
  options.kills = 1;
  options.session_breaks = 1;
  options.restarts = 1;
  for (options.seed = 1; options.seed <= 4; ++options.seed) Played(options);
}

TEST(Noise, AHostThatStandsStillAsksWhenItGoesOn) {
  Noise noise{.stall_chance = 1, .stall = milliseconds(100)};
  const Stalls stalls(noise.stall_chance, noise.stall, 1);
  const Time begin = stalls.NextBegin(1, Time{});
  const Time end = stalls.Awake(1, begin);
  Options options{.nodes = 2, .size_bytes = 16_KiB, .noise = noise};
  World world(options);
  world.AddNode();
  world.AddNode();
  world.At(Time{}, [&] { world.Put(0, kFirstContent); });
  world.At(begin, [&] { world.Get(1); });
  world.Run();
  EXPECT_EQ(world.violation(), "");
  ASSERT_TRUE(world.members()[1].returned);
  EXPECT_GT(*world.members()[1].returned, end + 3 * options.latency);
}

// A round begins once the directory has heard the Delete of the round before it.
TEST(Noise, AllRoundsAreServedWhereWordsAreLate) {
  Options options = Staggered();
  options.noise.late = milliseconds(200);
  options.size_bytes = 1_MiB;
  options.rounds = 8;
  const Report report = Played(options);
  ASSERT_EQ(report.rounds.size(), 8U);
  std::uint64_t moves = 0;
  for (const Round& round : report.rounds) {
    EXPECT_EQ(round.completed, 7U) << report.replay;
    EXPECT_GE(round.stretch, 1.0);
    moves += round.moves;
  }
  EXPECT_EQ(moves, report.moves);
  EXPECT_EQ(report.rounds.back().stretch, report.stretch);
}

}  // namespace
}  // namespace hoplite::sim
