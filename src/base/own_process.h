// OwnProcess: remembers the process that made something. A forked child has a copy of it, without
// its threads and with its locks as they were: whoever asks here before any lock never hangs there.
#pragma once

#include <string>

#include <unistd.h>

#include <hoplite/result.h>

namespace hoplite {

class OwnProcess {
 public:
  bool here() const { return ::getpid() == process_; }
  static Error NotHere(const std::string& what) {
    return {ErrorCode::kUnavailable,
            what + " belongs to the process that this one was forked from"};
  }

 private:
  pid_t process_ = ::getpid();
};

}  // namespace hoplite
