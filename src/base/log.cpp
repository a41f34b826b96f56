#include "base/log.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <hoplite/log.h>

#include "base/log_output.h"
#include "base/log_relay.h"
#include "base/mutex.h"

namespace hoplite::log {
namespace {

std::optional<Level> Named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Level>, 6> kNames{{{"trace", Level::kTrace},
                                                                      {"debug", Level::kDebug},
                                                                      {"info", Level::kInfo},
                                                                      {"warn", Level::kWarn},
                                                                      {"error", Level::kError},
                                                                      {"off", Level::kOff}}};
  for (const auto& [known, level] : kNames) {
    if (known == name) return level;
  }
  return std::nullopt;
}

spdlog::level::level_enum ToSpdlog(Level level) {
  constexpr std::array kLevels{spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
                               spdlog::level::warn,  spdlog::level::err,   spdlog::level::off};
  return kLevels[static_cast<std::size_t>(level)];
}

Level FromEnvironment() {
  const char* name = std::getenv("HOPLITE_LOG");
  return Named(name != nullptr ? name : "").value_or(Level::kWarn);
}

// Asked when the library is loaded. In a program that was started without standard error (`2>&-`) a
// file of its own gets that number later.
const bool has_standard_error = ::fcntl(STDERR_FILENO, F_GETFD) >= 0;

class StandardError final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const MutexLock lock(mutex_);
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    output_.Write({line.data(), line.size()});
  }
  void flush_() override {}

  Mutex mutex_;  // of the formatter, too
  LogOutput output_ HOPLITE_GUARDED_BY(mutex_){STDERR_FILENO};
};

spdlog::sink_ptr Sink() {
  if (has_standard_error) return std::make_shared<StandardError>();
  return std::make_shared<spdlog::sinks::null_sink_mt>();
}

spdlog::logger& Spdlog() {
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("hoplite", Sink());
    made->set_level(ToSpdlog(FromEnvironment()));
    made->set_pattern("%H:%M:%S.%f %L %v");
    return made;
  }();
  return *logger;
}

// To the program's own logger, if it has one.
LogRelay& Relay() {
  static LogRelay relay;
  return relay;
}

}  // namespace

void SetLevel(Level level) { Spdlog().set_level(ToSpdlog(level)); }

bool SetLevel(std::string_view name) {
  const std::optional<Level> level = Named(name);
  if (level) SetLevel(*level);
  return level.has_value();
}

void SetPrefix(std::string prefix) { Spdlog().set_pattern("%H:%M:%S.%f %L " + prefix + " %v"); }

bool Enabled(Level level) { return Spdlog().should_log(ToSpdlog(level)); }

void Write(Level level, std::string_view text) {
  if (Relay().Push(static_cast<LogLevel>(level), text)) return;
  Spdlog().log(ToSpdlog(level), "{}", text);
}

}  // namespace hoplite::log

namespace hoplite {

std::string_view Name(LogLevel level) {
  constexpr std::array<std::string_view, 5> kNames{"trace", "debug", "info", "warn", "error"};
  const auto place = static_cast<std::size_t>(level);
  return place < kNames.size() ? kNames[place] : "unknown";
}

void SetLogger(Logger logger, LogLevel least) {
  log::SetLevel(logger ? static_cast<log::Level>(least) : log::FromEnvironment());
  log::Relay().Set(std::move(logger));
}

}  // namespace hoplite
