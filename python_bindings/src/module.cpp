// hoplite._core: the C++ client as Python objects that know bytes only. What arrays, pickles and
// clusters are is decided in the package's Python files. No gRPC comes into the user's process:
// the module links the client, which speaks to its node over a Unix socket.
#include <nanobind/nanobind.h>

#include "bind.h"
#include "errors.h"
#include "gil.h"

NB_MODULE(_core, module) {
  using namespace hoplite::python;
  // What a thread holds that still waits at the exit is the process's end to release.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = HOPLITE_VERSION;
  RegisterErrors(module);
  RegisterExit();
  BindObjectId(module);
  BindMemory(module);
  BindLater(module);
  BindReduction(module);
  BindRegister(module);
  BindChannel(module);
  BindPictures(module);
  BindClient(module);
}
