// Errors of the library as Python exceptions, and calls that Ctrl-C ends.
//
// The classes live in hoplite/errors.py; this file finds them by code. Everything that may block
// runs without the GIL.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nanobind/nanobind.h>

#include <hoplite/result.h>

#include "client/interruption.h"
#include "gil.h"

namespace hoplite::python {

// Carried through C++ frames; becomes the exception of its code on the way to Python.
struct Raised {
  Error error;
};

// Teaches `module` to turn Raised into the classes of hoplite.errors.
void RegisterErrors(nanobind::module_& module);

// One of the classes of hoplite.errors.
class Exception : public nanobind::object {
  NB_OBJECT(Exception, nanobind::object, "hoplite.errors.HopliteError", PyExceptionInstance_Check)
};

// An exception of the class of its code.
Exception ExceptionOf(const Error& error);
// The code of that name; ValueError: there is none.
ErrorCode CodeNamed(std::string_view name);

template <typename T>
T ValueOf(Result<T> result) {
  if (!result) throw Raised{std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Seconds, or None for ever. ValueError for a number that is none.
std::chrono::milliseconds ToTimeout(std::optional<double> seconds);

// Seconds; None: none. ValueError for a number that is none.
std::optional<std::chrono::milliseconds> ToGrace(std::optional<double> seconds);

// Runs a call of the library, which gives a Result, without the GIL. While it waits or copies,
// Python's signal handlers run (on the main thread): if one raises, the call is given up, and what
// it raised comes out of here. So does what a call that takes the Unlocked leaves in the thread's
// state when it fails.
template <typename Call>
auto WithoutGil(Call call) {
  std::optional<Unlocked> unlocked(std::in_place);
  const client::Interruption interruption([&unlocked] {
    // An exception waits in this thread's state.
    return unlocked->Locked([] { return PyErr_CheckSignals() != 0; });
  });
  auto result = [&] {
    if constexpr (std::is_invocable_v<Call, Unlocked&>) {
      return call(*unlocked);
    } else {
      return call();
    }
  }();
  unlocked.reset();
  // A signal may have ended a system call, and with it the call.
  if (PyErr_Occurred() != nullptr || (!result && PyErr_CheckSignals() != 0)) {
    throw nanobind::python_error();
  }
  return ValueOf(std::move(result));
}

}  // namespace hoplite::python
