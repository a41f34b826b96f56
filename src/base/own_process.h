// OwnProcess: remembers which process made a thing. A forked child has a copy of the thing, without
// its threads and with its locks as they were at the fork. Code that asks here before it takes a
// lock never hangs in the child. Asked on every call, so it asks no kernel.
#pragma once

#include <string>

#include <hoplite/result.h>

namespace hoplite {

class OwnProcess {
 public:
  OwnProcess() : forks_(Forks()) {}

  bool here() const { return Forks() == forks_; }
  static Error NotHere(const std::string& what) {
    return {ErrorCode::kUnavailable,
            what + " belongs to the process that this one was forked from"};
  }

 private:
  // That lie between the first process and this one.
  static unsigned Forks();

  const unsigned forks_;
};

}  // namespace hoplite
