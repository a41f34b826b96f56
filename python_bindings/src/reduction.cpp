#include <cstdint>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <hoplite/reduction.h>

#include "arrivals.h"
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
            const std::chrono::milliseconds wait = ToTimeout(timeout);
            return WithoutGil([&] { return reduction.Wait(wait); });
          },
          nb::arg("timeout") = nb::none())
      .def("tell", [](const Reduction& reduction, const Arrivals& arrivals,
                      std::uint64_t number) { reduction.OnReady(arrivals.Teller(number)); })
      .def("cancel", &Reduction::Cancel);
}

}  // namespace hoplite::python
