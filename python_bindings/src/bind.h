// What each file adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace hoplite::python {

void BindObjectId(nanobind::module_& module);
void BindMemory(nanobind::module_& module);  // View and Draft: bytes in the node's store
void BindLater(nanobind::module_& module);   // Arrivals, and requests under way
void BindReduction(nanobind::module_& module);
void BindRegister(nanobind::module_& module);
void BindChannel(nanobind::module_& module);
void BindPictures(nanobind::module_& module);  // status, info, subscriptions
void BindClient(nanobind::module_& module);

}  // namespace hoplite::python
