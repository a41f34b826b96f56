// What hoplite/_shown.py says of objects of the extension to who looks at them at a prompt.
#pragma once

#include <nanobind/nanobind.h>

namespace hoplite::python {

inline nanobind::object SaidOf(nanobind::handle self, const char* function) {
  return nanobind::module_::import_("hoplite._shown").attr(function)(self);
}

// A class whose repr is that.
template <typename T>
class Shown : public nanobind::class_<T> {
 public:
  template <typename... Extra>
  explicit Shown(const Extra&... extra) : nanobind::class_<T>(extra...) {
    this->def("__repr__", [](const nanobind::handle self) { return SaidOf(self, "text"); });
  }
};

}  // namespace hoplite::python
