// Where the library's log goes.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string_view>

#include <hoplite/export.h>

namespace hoplite {

// What a line is about. Each level is rarer than those above it.
enum class LogLevel : std::uint8_t {
  kTrace = 0,  // each block
  kDebug = 1,  // each object
  kInfo = 2,   // the life of members
  kWarn = 3,   // what somebody should know, and that the library copes with
  kError = 4,  // what it does not cope with
};

// "trace", "debug", …: as the variable HOPLITE_LOG names them.
HOPLITE_EXPORT std::string_view Name(LogLevel level);
HOPLITE_EXPORT std::ostream& operator<<(std::ostream& out, LogLevel level);  // its Name

// Is given one line, without its end.
using Logger = std::function<void(LogLevel level, std::string_view line)>;

// From now on `logger` is given the lines of this process from `least` on, in order, on a thread of
// its own: no thread that moves bytes waits for it, and no lock of the library is held. More than
// 4096 lines that it was not given yet are dropped, and it is told how many. It must not throw.
//
// An empty function brings back what was at first: standard error, from kWarn on or as the variable
// HOPLITE_LOG says. When that returns the logger before is not running, and will not. Call it before
// main() ends, if the logger uses what ends with main(); not in the logger itself. In a forked child
// lines go to standard error.
HOPLITE_EXPORT void SetLogger(Logger logger, LogLevel least = LogLevel::kWarn);

}  // namespace hoplite
