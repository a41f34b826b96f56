// Futures of the C++ client, as `hoplite._waiting.Request` wants them.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include <hoplite/future.h>

#include "arrivals.h"
#include "errors.h"

namespace hoplite::python {

template <typename T>
void BindAnswer(nanobind::module_& module, const char* name) {
  nanobind::class_<Future<T>>(module, name)
      .def("wait",
           [](const Future<T>& future) { return WithoutGil([&future] { return future.Wait(); }); })
      .def("ready", &Future<T>::ready)
      .def("tell", [](const Future<T>& future, const Arrivals& arrivals,
                      std::uint64_t number) { future.OnReady(arrivals.Teller(number)); })
      .def("cancel", &Future<T>::Cancel);
}

}  // namespace hoplite::python
