#include <string>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <hoplite/object_id.h>

#include "bind.h"
#include "errors.h"

namespace hoplite::python {

namespace nb = nanobind;

void BindObjectId(nb::module_& module) {
  Class<ObjectId>(module, "ObjectId",
                  "The name of an object: 20 bytes, hashable, picklable, prints as 40 "
                  "hexadecimal digits. May be handed around before the object exists.")
      .def(
          "__init__",
          [](ObjectId* self, std::string_view text) {
            new (self) ObjectId(ValueOf(ObjectId::Parse(text)));
          },
          nb::arg("text"),
          "From 40 hexadecimal digits, or \"name:TEXT\".\n\n"
          "InvalidArgumentError: it is neither.")
      .def_static("random", &ObjectId::Random, "160 random bits of the operating system.")
      .def_static("from_name", &ObjectId::FromName, nb::arg("name"),
                  "The same text gives the same id on every machine.")
      .def_static(
          "from_bytes",
          [](const nb::bytes& bytes) {
            return ValueOf(ObjectId::FromBytes({bytes.c_str(), bytes.size()}));
          },
          nb::arg("bytes"), "From the 20 raw bytes. InvalidArgumentError: there are more or fewer.")
      .def("hex", &ObjectId::ToHex, "40 hexadecimal digits.")
      .def("__bytes__",
           [](const ObjectId& id) { return nb::bytes(id.view().data(), id.view().size()); })
      .def("__str__", &ObjectId::ToHex)
      .def("__repr__", [](const ObjectId& id) { return "ObjectId('" + id.ToHex() + "')"; })
      .def("__hash__", [](const ObjectId& id) { return static_cast<Py_ssize_t>(id.Hash()); })
      .def(
          "__reduce__",
          [](const nb::object& self) {
            return nb::make_tuple(self.type(), nb::make_tuple(self.attr("hex")()));
          },
          nb::sig("def __reduce__(self) -> tuple[type[ObjectId], tuple[str]]"))
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(nb::self != nb::self, nb::sig("def __ne__(self, other: object, /) -> bool"))
      .def(nb::self < nb::self);
}

}  // namespace hoplite::python
