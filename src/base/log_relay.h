// LogRelay: hands lines of the log to a logger of the program, on a thread of its own.
//
// Whoever logs may hold a lock, and must not wait: a line is queued, or dropped and counted. Thread-safe;
// a forked child finds no logger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/types.h>

#include <hoplite/log.h>

#include "base/mutex.h"

namespace hoplite::log {

class LogRelay {
 public:
  static constexpr std::size_t kMostLines = 4096;

  LogRelay() = default;
  ~LogRelay() { Set(nullptr); }
  LogRelay(const LogRelay&) = delete;
  LogRelay& operator=(const LogRelay&) = delete;

  // The one before is given what is queued; when this returns it is not running, and will not.
  void Set(Logger logger);
  // False: there is no logger.
  bool Push(LogLevel level, std::string_view line);

 private:
  using Line = std::pair<LogLevel, std::string>;

  void End() HOPLITE_REQUIRES(setting_);
  void Run(const Logger& logger);
  // Waits for the next; false: there will be none.
  bool Next(Line& line);

  std::atomic<pid_t> process_{0};  // that has a logger
  Mutex setting_;
  std::thread thread_ HOPLITE_GUARDED_BY(setting_);
  Mutex mutex_;  // never held while the logger runs
  Condition changed_;
  std::deque<Line> lines_ HOPLITE_GUARDED_BY(mutex_);
  std::uint64_t dropped_ HOPLITE_GUARDED_BY(mutex_) = 0;
  bool ending_ HOPLITE_GUARDED_BY(mutex_) = false;
};

}  // namespace hoplite::log
