#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <hoplite/client.h>
#include <hoplite/register.h>

#include "answers.h"
#include "bind.h"
#include "errors.h"
#include "gil.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

using Number = std::pair<std::uint64_t, std::uint64_t>;

RegisterNumber ToNumber(const Number& number) { return {number.first, number.second}; }

Future<RegisterEntry> BeginGet(const Register& opened, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return opened.GetAsync(options);
}

Future<RegisterEntry> BeginChanged(const Register& opened, const Number& after, bool only_later,
                                   std::optional<double> timeout) {
  const ChangedOptions options{.only_later = only_later, .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return opened.ChangedAsync(ToNumber(after), options);
}

Future<RegisterWrite> BeginWrite(const Register& opened, const Number& expected,
                                 const nb::bytes& value, bool writer,
                                 std::optional<double> timeout) {
  const CompareAndSetOptions options{.writer = writer, .timeout = ToTimeout(timeout)};
  const std::string bytes(value.c_str(), value.size());
  const Unlocked unlocked;
  return opened.CompareAndSetAsync(ToNumber(expected), bytes, options);
}

}  // namespace

void BindRegister(nb::module_& module) {
  const nb::object none = nb::none();
  Class<RegisterEntry>(module, "RegisterEntry")
      .def_prop_ro("number",
                   [](const RegisterEntry& entry) {
                     return Number{entry.number.incarnation, entry.number.sequence};
                   })
      .def_prop_ro("value",
                   [](const RegisterEntry& entry) {
                     return nb::bytes(entry.value.data(), entry.value.size());
                   })
      .def_ro("has_writer", &RegisterEntry::has_writer);
  Class<RegisterWrite>(module, "RegisterWrite")
      .def_ro("written", &RegisterWrite::written)
      .def_ro("entry", &RegisterWrite::entry);
  BindAnswer<RegisterEntry>(module, "RegisterLater");
  BindAnswer<RegisterWrite>(module, "RegisterWriteLater");
  Class<Register>(module, "Register")
      .def("get_later", &BeginGet, nb::arg("timeout") = none)
      .def("changed_later", &BeginChanged, nb::arg("after"), nb::arg("only_later"),
           nb::arg("timeout") = none)
      .def("write_later", &BeginWrite, nb::arg("expected"), nb::arg("value"), nb::arg("writer"),
           nb::arg("timeout") = none);
}

}  // namespace hoplite::python
