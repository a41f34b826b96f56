// LogOutput: where the lines of the log go, a descriptor that perhaps nobody reads.
//
// The log never waits for its reader: what a pipe, a terminal or a socket has no room for is dropped
// and counted, and the next line that finds room says how many lines are missing. The room of a pipe
// is the queue. Takes no thread, so it works in a forked child. Thread-safe by its caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "base/file_descriptor.h"

namespace hoplite::log {

class LogOutput {
 public:
  // The descriptor stays the caller's, who may let it mean another file later. Its flags are not
  // changed: other processes share them.
  explicit LogOutput(int fd);

  // One line, with its end; or nothing of it.
  void Write(std::string_view line);
  // Lines that nobody will read, since the last one that was written.
  std::uint64_t dropped() const { return dropped_; }

 private:
  enum class Kind : std::uint8_t { kUnknown, kRegular, kSocket, kStream };

  // False: it is closed.
  bool Look();
  // All of the rest of a line that was begun. False: there is no room.
  bool FinishRest();
  std::size_t Begin(std::string_view text);

  const int shared_;
  FileDescriptor own_;  // of the same file, not blocking; none: it can't be opened again
  Kind kind_ = Kind::kUnknown;
  dev_t device_ = 0;  // of the file, as is the next
  ino_t inode_ = 0;
  std::string rest_;  // of a line of which a part was written
  std::uint64_t dropped_ = 0;
};

}  // namespace hoplite::log
