// What hoplite/_shown.py says of objects of the extension to who looks at them at a prompt.
#pragma once

#include <nanobind/nanobind.h>

#include "bind.h"

namespace hoplite::python {

inline nanobind::str SaidOf(nanobind::handle self, const char* function) {
  return nanobind::str(nanobind::module_::import_("hoplite._shown").attr(function)(self));
}

// A class whose repr is that.
template <typename T>
class Shown : public Class<T> {
 public:
  template <typename... Extra>
  explicit Shown(nanobind::module_& module, const Extra&... extra) : Class<T>(module, extra...) {
    this->def("__repr__", [](const nanobind::handle self) { return SaidOf(self, "text"); });
  }
};

}  // namespace hoplite::python
