#include "base/log_relay.h"

#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/log.h"

namespace hoplite {
namespace {

using testing::ElementsAre;

TEST(LogRelay, GivesLinesInOrderFromTheLevelOn) {
  std::vector<std::string> lines;
  SetLogger(
      [&](LogLevel level, std::string_view line) {
        lines.push_back(std::string(Name(level)) + ": " + std::string(line));
      },
      LogLevel::kInfo);
  log::Debug("nobody wants this");
  log::Info("first {}", 1);
  log::ErrorLine("second");
  SetLogger({});  // it was given all by then
  EXPECT_THAT(lines, ElementsAre("info: first 1", "error: second"));
  EXPECT_FALSE(log::Enabled(log::Level::kInfo)) << "as at first";
}

TEST(LogRelay, NobodyWaitsForASlowLoggerAndItHearsWhatItMissed) {
  std::promise<void> go;
  std::vector<std::string> lines;
  log::LogRelay relay;
  relay.Set([&, first = true](LogLevel, std::string_view line) mutable {
    if (std::exchange(first, false)) go.get_future().wait();
    lines.emplace_back(line);
  });
  for (std::size_t i = 0; i < log::LogRelay::kMostLines + 10; ++i) {
    EXPECT_TRUE(relay.Push(LogLevel::kWarn, "line"));
  }
  go.set_value();
  relay.Set(nullptr);
  ASSERT_GT(lines.size(), log::LogRelay::kMostLines);
  EXPECT_THAT(lines.back(), testing::HasSubstr("lines of the log were dropped"));
  EXPECT_FALSE(relay.Push(LogLevel::kWarn, "there is no logger"));
}

}  // namespace
}  // namespace hoplite
