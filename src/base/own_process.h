// OwnProcess: remembers which process made a thing. A forked child has a copy of the thing, without
// its threads and with its locks as they were at the fork. Code that asks here before it takes a
// lock never hangs in the child.
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
