// A shard of three members in every order of events: no history breaks a property, and each half of
// R110-R115 is needed: without it a property breaks.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/kit/random.h"
#include "sim/session_world/shard_world.h"

namespace hoplite::sim {
namespace {

constexpr std::uint64_t kSeed = 1;

struct ShardCase {
  const char* name;
  ShardOptions options;
  std::uint32_t steps = 120;  // of a walk
};
void PrintTo(const ShardCase& tested, std::ostream* out) { *out << tested.name; }
const auto kShardName = [](const auto& tested) { return tested.param.name; };

class ShardsBreadthFirst : public testing::TestWithParam<ShardCase> {};

TEST_P(ShardsBreadthFirst, HaveOneHolder) {
  const ShardResult result = SearchShards(GetParam().options, 30'000);
  EXPECT_EQ(result.violation, "") << result.path;
}

INSTANTIATE_TEST_SUITE_P(
    All, ShardsBreadthFirst,
    testing::Values(ShardCase{"Slow", {.ticks = 3, .claims = 1}},
                    ShardCase{"Crash", {.ticks = 3, .claims = 1, .crashes = 1}},
                    ShardCase{"Writes", {.ticks = 3, .claims = 1, .writes = true}}),
    kShardName);

class ShardsByChance : public testing::TestWithParam<ShardCase> {};

TEST_P(ShardsByChance, HaveOneHolderAndNobodyWaitsForEver) {
  const ShardResult result = WalkShards(GetParam().options, 5'000, GetParam().steps, kSeed);
  EXPECT_EQ(result.violation, "") << result.path;
}

INSTANTIATE_TEST_SUITE_P(
    All, ShardsByChance,
    testing::Values(
        ShardCase{"Slow", {.ticks = 5, .claims = 3, .cuts = 1}},
        ShardCase{"SlowWrites", {.ticks = 5, .claims = 3, .breaks = 1, .writes = true}},
        ShardCase{"Crashes", {.ticks = 8, .claims = 4, .crashes = 1, .breaks = 1, .writes = true}},
        ShardCase{"Restarts", {.ticks = 6, .claims = 4, .crashes = 2, .voter_restarts = 1}},
        ShardCase{"RestartsWrites",
                  {.ticks = 6, .claims = 4, .crashes = 2, .voter_restarts = 1, .writes = true}},
        ShardCase{"ClocksBack",
                  {.ticks = 6,
                   .claims = 4,
                   .crashes = 2,
                   .voter_restarts = 1,
                   .clock_backs = 1,
                   .breaks = 1,
                   .writes = true}},
        ShardCase{"ManyFaults",
                  {.ticks = 8,
                   .claims = 6,
                   .crashes = 2,
                   .voter_restarts = 2,
                   .clock_backs = 2,
                   .breaks = 2,
                   .cuts = 1,
                   .writes = true},
                  200}),
    kShardName);

ShardCase Faulty(const char* name, ShardOptions options, ShardFault fault,
                 std::uint32_t steps = 120) {
  options.fault = fault;
  return {name, options, steps};
}

class ShardFaults : public testing::TestWithParam<ShardCase> {};

TEST_P(ShardFaults, AreCaught) {
  const ShardResult result = WalkShards(GetParam().options, 400'000, GetParam().steps, kSeed);
  EXPECT_NE(result.violation, "");
  RecordProperty("caught", result.violation + result.path);
}

constexpr ShardOptions kSlow{.ticks = 4, .claims = 1};
constexpr ShardOptions kRestarts{.ticks = 6, .claims = 4, .crashes = 2, .voter_restarts = 1};
constexpr ShardOptions kClocksBack{
    .ticks = 6, .claims = 4, .crashes = 2, .voter_restarts = 1, .clock_backs = 1, .writes = true};
constexpr ShardOptions kSuccessions{
    .ticks = 8, .claims = 4, .crashes = 1, .breaks = 1, .writes = true};

INSTANTIATE_TEST_SUITE_P(
    All, ShardFaults,
    testing::Values(Faulty("OneIsEnough", kSlow, ShardFault::kOneIsEnough),
                    Faulty("PromisesTwice", kSlow, ShardFault::kPromisesTwice),
                    Faulty("NoSpare", kSlow, ShardFault::kNoSpare),
                    Faulty("SleepingClock", kSlow, ShardFault::kSleepingClock),
                    Faulty("NotMute", kRestarts, ShardFault::kNotMute),
                    Faulty("AcksAtOnce", kSlow, ShardFault::kAcksAtOnce),
                    Faulty("AcksOpenRound", kSlow, ShardFault::kAcksOpenRound),
                    Faulty("WelcomesAtOnce", kSlow, ShardFault::kWelcomesAtOnce),
                    Faulty("CountsAnyRound", {.ticks = 3, .claims = 1, .cuts = 1},
                           ShardFault::kCountsAnyRound),
                    Faulty("NoFence", kSlow, ShardFault::kNoFence),
                    Faulty("FromAnswer", kSlow, ShardFault::kFromAnswer),
                    Faulty("AnyLife", kClocksBack, ShardFault::kAnyLife),
                    Faulty("DeafToHello", kClocksBack, ShardFault::kDeafToHello),
                    Faulty("FreesNobody", kSlow, ShardFault::kFreesNobody),
                    Faulty("NoNames", kSuccessions, ShardFault::kNoNames),
                    Faulty("OpensAtOnce", kSuccessions, ShardFault::kOpensAtOnce),
                    Faulty("NamesItsOwn", kSuccessions, ShardFault::kNamesItsOwn),
                    Faulty("TrustsStarted", kClocksBack, ShardFault::kTrustsStarted)),
    kShardName);

// Two members claim at nearly one moment, the third only votes, or is dead: messages take up to 20 ms.
class Duel {
 public:
  Duel(std::uint64_t seed, bool third_is_dead) : random_(seed), third_is_dead_(third_is_dead) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const Duration late = random_.Within(std::chrono::milliseconds(150));
      voters_.emplace_back(kTenure, directory::VoterStart::kMute, Time(late));
    }
  }
  // How long after the last voter was free; none: longer than a second.
  std::optional<Duration> Decide() {
    Time free{};
    for (const directory::Voter& voter : voters_) free = std::max(free, voter.until());
    for (now_ = Time(kTenure); now_ < free + std::chrono::seconds(1); now_ += kStep) {
      Turns();
      Deliver();
      if (tenures_[0].holds() || tenures_[1].holds()) return now_ - free;
    }
    return std::nullopt;
  }

 private:
  static constexpr Duration kTenure = std::chrono::seconds(2);
  static constexpr Duration kStep = std::chrono::milliseconds(1);
  struct Message {
    Time at;
    std::uint32_t member;
    std::uint32_t voter;
    directory::Tenure::Say say;
    std::optional<directory::PromiseAnswer> answer = {};
  };

  void Turns() {
    for (std::uint32_t i = 0; i < 2; ++i) {
      Send(i,
           tenures_.at(i).Turn(now_, voters_[i].until(),
                               1000 + static_cast<std::uint64_t>(now_.time_since_epoch().count())));
    }
  }
  void Send(std::uint32_t member, const directory::Tenure::Say& say) {
    if (!say.ask && say.free == 0) return;
    for (std::uint32_t voter = 0; voter < (third_is_dead_ ? 2U : 3U); ++voter) {
      const Duration way =
          voter == member ? Duration{0} : random_.Within(std::chrono::milliseconds(20));
      last_.at(member).at(voter) = std::max(last_.at(member).at(voter), now_ + way);
      messages_.push_back(
          {.at = last_.at(member).at(voter), .member = member, .voter = voter, .say = say});
    }
  }
  void Deliver() {
    for (std::size_t i = 0; i < messages_.size();) {
      if (messages_[i].at > now_) {
        ++i;
        continue;
      }
      const Message message = messages_[i];
      messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
      Hear(message);
    }
  }
  void Hear(const Message& message) {
    if (message.answer) {
      Send(message.member, tenures_.at(message.member).Hear(message.voter, *message.answer, now_));
      return;
    }
    directory::Voter& voter = voters_[message.voter];
    if (message.say.free != 0) voter.Free(message.say.free, now_);
    if (!message.say.ask) return;
    Message back = message;
    back.answer = voter.Hear(*message.say.ask, now_);
    back.at =
        now_ + (message.voter == message.member ? Duration{0}
                                                : random_.Within(std::chrono::milliseconds(20)));
    messages_.push_back(back);
  }

  Random random_;
  bool third_is_dead_;
  Time now_;
  std::vector<directory::Voter> voters_;
  std::array<directory::Tenure, 2> tenures_{directory::Tenure({.place = 0}),
                                            directory::Tenure({.place = 1})};
  std::array<std::array<Time, 3>, 2> last_{};
  std::vector<Message> messages_;
};

TEST(ShardDuels, AreDecidedWithinHalfASecond) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    const auto decided = Duel(seed, seed % 2 == 0).Decide();
    ASSERT_TRUE(decided) << seed;
    ASSERT_LE(*decided, std::chrono::milliseconds(500)) << seed;
  }
}

}  // namespace
}  // namespace hoplite::sim
