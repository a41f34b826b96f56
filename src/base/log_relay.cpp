#include "base/log_relay.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/exhaustion.h"

namespace hoplite::log {

void LogRelay::Set(Logger logger) {
  const MutexLock lock(setting_);
  End();
  if (!logger) return;
  auto started = StartThread([this, logger = std::move(logger)] { Run(logger); });
  if (!started) return;  // lines go on to where they went at first
  thread_ = *std::move(started);
  process_ = ::getpid();
}

void LogRelay::End() {
  const bool here = process_.exchange(0) == ::getpid();
  if (!thread_.joinable()) return;
  if (!here) return thread_.detach();  // no such thread in a forked child
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  const MutexLock lock(mutex_);
  ending_ = false;
}

bool LogRelay::Push(LogLevel level, std::string_view line) {
  if (process_ != ::getpid()) return false;
  const MutexLock lock(mutex_);
  if (lines_.size() >= kMostLines) {
    ++dropped_;
  } else {
    lines_.emplace_back(level, line);
    changed_.NotifyAll();
  }
  return true;
}

void LogRelay::Run(const Logger& logger) {
  for (Line line; Next(line);) logger(line.first, line.second);
}

bool LogRelay::Next(Line& line) {
  const MutexLock lock(mutex_);
  while (lines_.empty() && dropped_ == 0 && !ending_) changed_.Wait(mutex_);
  if (!lines_.empty()) {
    line = std::move(lines_.front());
    lines_.pop_front();
    return true;
  }
  if (dropped_ == 0) return false;
  line = {LogLevel::kWarn, fmt::format("{} lines of the log were dropped: the logger is slow",
                                       std::exchange(dropped_, 0))};
  return true;
}

}  // namespace hoplite::log
