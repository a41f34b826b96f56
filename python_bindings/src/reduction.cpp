#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <hoplite/reduction.h>

#include "answers.h"
#include "base/reduce_types.h"
#include "bind.h"
#include "errors.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

nb::tuple DTypeNames() {
  nb::list names;
  for (const DType dtype : AllDTypes()) names.append(std::string(Name(dtype)));
  return nb::tuple(names);
}

}  // namespace

void BindReduction(nb::module_& module) {
  module.attr("DTYPES") = DTypeNames();
  Class<ReduceOutcome>(module, "ReduceOutcome")
      .def_ro("target", &ReduceOutcome::target)
      .def_ro("used", &ReduceOutcome::used)
      .def_ro("unused", &ReduceOutcome::unused);
  BindRequest<Reduction>(module, "Reduction")
      .def_prop_ro("target", &Reduction::target)
      .def(
          "wait",
          [](const Reduction& reduction, std::optional<double> timeout) {
            const std::chrono::milliseconds wait = ToTimeout(timeout);
            return WithoutGil([&] { return reduction.Wait(wait); });
          },
          nb::arg("timeout") = nb::none());
}

}  // namespace hoplite::python
