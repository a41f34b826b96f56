#include "errors.h"

#include <cmath>
#include <string>

#include <hoplite/options.h>

#include "memory.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

nb::object ClassOf(ErrorCode code) {
  const nb::object classes = nb::module_::import_("hoplite.errors").attr("BY_CODE");
  const std::string_view name = Name(code);
  return classes[nb::str(name.data(), name.size())];
}

}  // namespace

Exception ExceptionOf(const Error& error) {
  const nb::str message(error.message.data(), error.message.size());
  return nb::borrow<Exception>(ClassOf(error.code)(message));
}

ErrorCode CodeNamed(std::string_view name) {
  for (auto number = static_cast<int>(ErrorCode::kInvalidArgument);
       number <= static_cast<int>(kLastErrorCode); ++number) {
    if (Name(static_cast<ErrorCode>(number)) == name) return static_cast<ErrorCode>(number);
  }
  throw nb::value_error(("'" + std::string(name) + "' is the code of no error").c_str());
}

void RegisterErrors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*unused*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      const nb::object type = ClassOf(raised.error.code);
      std::string message = raised.error.message;
      if (raised.error.code == ErrorCode::kResourceExhausted) message += ViewsOfThisProcess();
      PyErr_SetObject(type.ptr(), nb::str(message.data(), message.size()).ptr());
    }
  });
}

namespace {

// Beyond a century nobody tells it from ever, and the conversion would overflow: kForever.
std::chrono::milliseconds ToMilliseconds(const char* name, double seconds) {
  if (std::isnan(seconds) || seconds < 0) {
    throw nb::value_error(
        (std::string(name) + ": a number of seconds from 0 on, or None, is expected").c_str());
  }
  constexpr double kLongest = 100.0 * 365 * 24 * 3600;
  if (seconds > kLongest) return kForever;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

}  // namespace

std::chrono::milliseconds ToTimeout(std::optional<double> seconds) {
  return seconds ? ToMilliseconds("timeout", *seconds) : kForever;
}

std::optional<std::chrono::milliseconds> ToGrace(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  return ToMilliseconds("grace", *seconds);
}

}  // namespace hoplite::python
