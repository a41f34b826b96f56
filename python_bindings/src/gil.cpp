#include "gil.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <unistd.h>

namespace hoplite::python {

namespace nb = nanobind;

namespace {

// Whose thread runs Python's exit; nobody's until then.
std::atomic<std::thread::id> exiting{};
// Threads on their way back: past the look at `exiting`, not yet with the GIL.
std::atomic<int> returning{0};

bool MayReturn() {
  const std::thread::id exits = exiting;
  return exits == std::thread::id() || exits == std::this_thread::get_id();
}

// Lets those return who did not see it in time. Called with the GIL.
void CloseTheWayBack() {
  exiting = std::this_thread::get_id();
  PyThreadState* const state = PyEval_SaveThread();
  while (returning > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

}  // namespace

void Unlocked::Return() {
  ++returning;
  if (!MayReturn()) {
    --returning;
    for (;;) ::pause();
  }
  PyEval_RestoreThread(state_);
  --returning;
}

void RegisterExit() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&CloseTheWayBack));
}

}  // namespace hoplite::python
