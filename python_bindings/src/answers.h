// Requests under way, futures of the C++ client among them, as `hoplite._waiting.Request` wants them.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include <hoplite/future.h>

#include "arrivals.h"
#include "bind.h"
#include "errors.h"

namespace hoplite::python {

// A request under way; its "wait" is added to the class.
template <typename T>
nanobind::class_<T> BindRequest(nanobind::module_& module, const char* name) {
  return Class<T>(module, name)
      .def("ready", &T::ready)
      .def(
          "tell",
          [](const T& request, const Arrivals& arrivals, std::uint64_t number) {
            request.OnReady(arrivals.Teller(number));
          },
          nanobind::arg("arrivals"), nanobind::arg("number"))
      .def("cancel", &T::Cancel);
}

template <typename T>
void BindAnswer(nanobind::module_& module, const char* name) {
  BindRequest<Future<T>>(module, name).def("wait", [](const Future<T>& future) {
    return WithoutGil([&future] { return future.Wait(); });
  });
}

}  // namespace hoplite::python
