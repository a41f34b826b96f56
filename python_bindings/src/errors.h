// Errors of the library as Python exceptions, and waits that Ctrl-C interrupts.
//
// The classes live in hoplite/errors.py; this file finds them by code. Everything that may block
// runs without the GIL.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include <hoplite/result.h>

#include "gil.h"

namespace hoplite::python {

// Carried through C++ frames; becomes the exception of its code on the way to Python.
struct Raised {
  Error error;
};

// Teaches `module` to turn Raised into the classes of hoplite.errors.
void RegisterErrors(nanobind::module_& module);

template <typename T>
T ValueOf(Result<T> result) {
  if (!result) throw Raised{std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Seconds, or None for ever. ValueError for a number that is none.
std::chrono::milliseconds ToTimeout(std::optional<double> seconds);

// How long a thread may sleep before it looks whether Ctrl-C was pressed.
inline constexpr std::chrono::milliseconds kSlice{50};

// Waits in slices without the GIL: `wait` gets at most kSlice and answers `timeout` when the thing
// is not there yet. Ends with what `wait` answers, with its own timeout, or with the exception of a
// signal's handler.
template <typename Wait>
auto WaitInterruptibly(std::chrono::milliseconds timeout, Wait wait) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    const auto left = timeout - std::min(passed, timeout);
    const bool last = left <= kSlice;
    auto result = [&] {
      const Unlocked unlocked;
      return wait(std::min(left, kSlice));
    }();
    if (result || last || result.error().code != ErrorCode::kTimeout) {
      return ValueOf(std::move(result));
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }
}

}  // namespace hoplite::python
