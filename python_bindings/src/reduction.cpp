#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <hoplite/reduction.h>

#include "bind.h"
#include "errors.h"

namespace hoplite::python {

namespace nb = nanobind;

void BindReduction(nb::module_& module) {
  nb::class_<ReduceOutcome>(module, "ReduceOutcome")
      .def_ro("target", &ReduceOutcome::target)
      .def_ro("used", &ReduceOutcome::used)
      .def_ro("unused", &ReduceOutcome::unused);
  nb::class_<Reduction>(module, "Reduction")
      .def_prop_ro("target", &Reduction::target)
      .def("ready", &Reduction::ready)
      .def(
          "wait",
          [](const Reduction& reduction, std::optional<double> timeout) {
            return WaitInterruptibly(ToTimeout(timeout),
                                     [&](auto slice) { return reduction.Wait(slice); });
          },
          nb::arg("timeout") = nb::none())
      .def("cancel", &Reduction::Cancel);
}

}  // namespace hoplite::python
