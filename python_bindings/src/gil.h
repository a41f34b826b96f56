// Unlocked: a scope without the GIL that is safe at the interpreter's exit.
//
// CPython before 3.14 ends a daemon thread that wants the GIL back while the interpreter goes, by
// unwinding its stack; C++ frames can't be unwound so, and the process aborts. Hence: from Python's
// atexit on, nobody comes back from such a scope. Its thread sleeps until the process is gone.
#pragma once

#include <nanobind/nanobind.h>

namespace hoplite::python {

class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() { Return(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  // Runs `use`, which must not throw, with the GIL; without it again afterwards.
  template <typename Use>
  auto Locked(Use use) {
    Return();
    const auto result = use();
    state_ = PyEval_SaveThread();
    return result;
  }

 private:
  void Return();
  PyThreadState* state_;
};

// Has Python's atexit call what ends the way back.
void RegisterExit();

}  // namespace hoplite::python
