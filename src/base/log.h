// Logging: spdlog behind a thin layer that formats only what will be shown. Each line names what it
// speaks of (node, object, version, peer). info = life cycle, debug = per object, trace = per
// block. Shown from warn on, or from the level that the variable HOPLITE_LOG names.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace hoplite::log {

enum class Level : int { kTrace, kDebug, kInfo, kWarn, kError, kOff };

void SetLevel(Level level);
// "trace", "debug", "info", "warn", "error", "off"; anything else changes nothing and gives false.
bool SetLevel(std::string_view name);
// Put before each line, for example the node's name.
void SetPrefix(std::string prefix);
bool Enabled(Level level);
// To standard error, without waiting for whoever reads that: see LogOutput.
void Write(Level level, std::string_view text);

template <typename... Args>
void At(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (Enabled(level)) Write(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void Trace(fmt::format_string<Args...> f, Args&&... a) {
  At(Level::kTrace, f, std::forward<Args>(a)...);
}
template <typename... Args>
void Debug(fmt::format_string<Args...> f, Args&&... a) {
  At(Level::kDebug, f, std::forward<Args>(a)...);
}
template <typename... Args>
void Info(fmt::format_string<Args...> f, Args&&... a) {
  At(Level::kInfo, f, std::forward<Args>(a)...);
}
template <typename... Args>
void Warn(fmt::format_string<Args...> f, Args&&... a) {
  At(Level::kWarn, f, std::forward<Args>(a)...);
}
template <typename... Args>
void ErrorLine(fmt::format_string<Args...> f, Args&&... a) {
  At(Level::kError, f, std::forward<Args>(a)...);
}

}  // namespace hoplite::log
