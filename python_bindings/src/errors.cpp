#include "errors.h"

#include <cmath>
#include <string>

#include <hoplite/options.h>

#include "memory.h"

namespace hoplite::python {

namespace nb = nanobind;

void RegisterErrors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*unused*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      const nb::object classes = nb::module_::import_("hoplite.errors").attr("BY_CODE");
      const std::string_view code = Name(raised.error.code);
      const nb::object type = classes[nb::str(code.data(), code.size())];
      std::string message = raised.error.message;
      if (raised.error.code == ErrorCode::kResourceExhausted) message += ViewsOfThisProcess();
      PyErr_SetObject(type.ptr(), nb::str(message.data(), message.size()).ptr());
    }
  });
}

std::chrono::milliseconds ToTimeout(std::optional<double> seconds) {
  if (!seconds) return kForever;
  if (std::isnan(*seconds) || *seconds < 0) {
    throw nb::value_error("timeout: a number of seconds from 0 on, or None, is expected");
  }
  // Beyond a century nobody tells it from ever, and the conversion would overflow.
  constexpr double kLongest = 100.0 * 365 * 24 * 3600;
  if (*seconds > kLongest) return kForever;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*seconds * 1000)));
}

}  // namespace hoplite::python
