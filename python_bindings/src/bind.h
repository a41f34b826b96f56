// What each file adds to the module. The build makes the stub `_core.pyi` of the signatures and
// docstrings (nanobind_add_stub): types are as precise there as they are here.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

namespace hoplite::python {

// A class that no other inherits from.
template <typename T>
class Class : public nanobind::class_<T> {
 public:
  template <typename... Extra>
  Class(nanobind::module_& module, const char* name, const Extra&... extra)
      : nanobind::class_<T>(
            module, name, nanobind::is_final(),
            nanobind::sig(("@typing.final\nclass " + std::string(name) + "()").c_str()), extra...) {
  }
};

void BindObjectId(nanobind::module_& module);
void BindMemory(nanobind::module_& module);  // View and Draft: bytes in the node's store
void BindLater(nanobind::module_& module);   // Arrivals, and requests under way
void BindReduction(nanobind::module_& module);
void BindRegister(nanobind::module_& module);
void BindChannel(nanobind::module_& module);
void BindPictures(nanobind::module_& module);  // status, info, subscriptions
void BindClient(nanobind::module_& module);

}  // namespace hoplite::python
