#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <hoplite/client.h>
#include <hoplite/reduce.h>

#include "bind.h"
#include "errors.h"
#include "gil.h"
#include "memory.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

// What a node answers by itself.
constexpr std::chrono::seconds kAnswersIn{5};

// A contiguous buffer of the caller, held while C++ reads or writes it.
class HeldBuffer {
 public:
  enum class Access : int { kRead = PyBUF_SIMPLE, kWrite = PyBUF_WRITABLE };

  HeldBuffer(nb::handle object, Access access) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, static_cast<int>(access)) != 0) {
      throw nb::python_error();
    }
  }
  ~HeldBuffer() { PyBuffer_Release(&buffer_); }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

std::string ToText(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

ObjectId Put(Client& client, nb::handle data, const std::optional<ObjectId>& id,
             const nb::bytes& metadata, std::optional<double> timeout) {
  const HeldBuffer held(data, HeldBuffer::Access::kRead);
  const PutOptions options{
      .id = id.value_or(ObjectId()), .metadata = ToText(metadata), .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return ValueOf(client.Put(held.bytes(), options));
}

ObjectId PutPieces(Client& client, const nb::list& pieces, const std::optional<ObjectId>& id,
                   const nb::bytes& metadata, std::optional<double> timeout) {
  std::deque<HeldBuffer> held;
  std::vector<std::span<const std::byte>> spans;
  for (const nb::handle piece : pieces) {
    spans.push_back(held.emplace_back(piece, HeldBuffer::Access::kRead).bytes());
  }
  const PutOptions options{
      .id = id.value_or(ObjectId()), .metadata = ToText(metadata), .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return ValueOf(client.Put(spans, options));
}

OpenDraft Create(Client& client, const ObjectId& id, std::uint64_t size_bytes,
                 const nb::bytes& metadata, std::optional<double> timeout) {
  const CreateOptions options{.metadata = ToText(metadata), .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return OpenDraft(ValueOf(client.Create(id, size_bytes, options)));
}

Future<Buffer> GetLater(Client& client, const ObjectId& id, std::optional<double> timeout) {
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  const Unlocked unlocked;
  return client.GetAsync(id, {.timeout = wait});
}

// The request's own deadline ends it, with the reason why the object is not there.
View WaitFor(const Future<Buffer>& future) {
  return View(WaitInterruptibly(kForever, [&](auto slice) -> Result<Buffer> {
    Result<Buffer> answer = future.Wait(slice);
    const bool over = !answer && future.ready();
    if (over) throw Raised{std::move(answer).error()};
    return answer;
  }));
}

View Get(Client& client, const ObjectId& id, std::optional<double> timeout) {
  return WaitFor(GetLater(client, id, timeout));
}

std::uint64_t GetInto(Client& client, const ObjectId& id, nb::handle out,
                      std::optional<double> timeout) {
  const HeldBuffer held(out, HeldBuffer::Access::kWrite);
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  const Unlocked unlocked;
  return ValueOf(client.GetInto(id, held.bytes(), {.timeout = wait}));
}

Reduction Reduce(Client& client, std::vector<ObjectId> sources, const std::string& op,
                 const std::string& dtype, std::optional<std::uint64_t> num_objects,
                 const std::optional<ObjectId>& target, bool fixed_order,
                 std::optional<double> timeout) {
  const ReduceOptions options{.sources = std::move(sources),
                              .op = ValueOf(ParseOp(op)),
                              .dtype = ValueOf(ParseDType(dtype)),
                              .num_objects = num_objects,
                              .target = target.value_or(ObjectId()),
                              .fixed_order = fixed_order,
                              .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return ValueOf(client.Reduce(options));
}

void Delete(Client& client, const ObjectId& id, std::optional<double> timeout) {
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  const Unlocked unlocked;
  ValueOf(client.Delete(id, {.timeout = wait}));
}

ObjectInfo Info(Client& client, const ObjectId& id, std::optional<double> timeout) {
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  const Unlocked unlocked;
  return ValueOf(client.Info(id, {.timeout = wait}));
}

}  // namespace

void BindClient(nb::module_& module) {
  nb::class_<HolderInfo>(module, "HolderInfo")
      .def_ro("node", &HolderInfo::node)
      .def_ro("complete", &HolderInfo::complete)
      .def_ro("valid_bytes", &HolderInfo::valid_bytes);
  nb::class_<ObjectInfo>(module, "ObjectInfo")
      .def_ro("id", &ObjectInfo::id)
      .def_ro("size_bytes", &ObjectInfo::size_bytes)
      .def_ro("version", &ObjectInfo::version)
      .def_ro("in_directory", &ObjectInfo::in_directory)
      .def_ro("holders", &ObjectInfo::holders)
      .def_prop_ro("metadata", [](const ObjectInfo& info) {
        return nb::bytes(info.metadata.data(), info.metadata.size());
      });

  const nb::object none = nb::none();
  nb::class_<Future<Buffer>>(module, "Future")
      .def("wait", &WaitFor)
      .def("ready", &Future<Buffer>::ready)
      .def("cancel", &Future<Buffer>::Cancel);
  nb::class_<Client>(module, "Client")
      .def_static(
          "connect",
          [](const std::string& socket, std::optional<double> timeout) {
            const std::chrono::milliseconds wait = ToTimeout(timeout);
            const Unlocked unlocked;
            return ValueOf(Client::Connect(socket, wait));
          },
          nb::arg("socket"), nb::arg("timeout") = none)
      .def("put", &Put, nb::arg("data"), nb::arg("id") = none, nb::arg("metadata") = nb::bytes(""),
           nb::arg("timeout") = none)
      .def("put_pieces", &PutPieces, nb::arg("pieces"), nb::arg("id") = none,
           nb::arg("metadata") = nb::bytes(""), nb::arg("timeout") = none)
      .def("create", &Create, nb::arg("id"), nb::arg("size_bytes"),
           nb::arg("metadata") = nb::bytes(""), nb::arg("timeout") = none)
      .def("get", &Get, nb::arg("id"), nb::arg("timeout") = none)
      .def("get_later", &GetLater, nb::arg("id"), nb::arg("timeout") = none)
      .def("get_into", &GetInto, nb::arg("id"), nb::arg("out"), nb::arg("timeout") = none)
      .def("reduce", &Reduce, nb::arg("sources"), nb::arg("op"), nb::arg("dtype"),
           nb::arg("num_objects") = none, nb::arg("target") = none, nb::arg("fixed_order") = false,
           nb::arg("timeout") = none)
      .def("delete", &Delete, nb::arg("id"), nb::arg("timeout") = none)
      .def("info", &Info, nb::arg("id"), nb::arg("timeout") = none)
      .def_prop_ro("node_name",
                   [](const Client& client) {
                     const Unlocked unlocked;
                     return client.node_name();
                   })
      .def_prop_ro("cluster_id",
                   [](const Client& client) {
                     const Unlocked unlocked;
                     return ValueOf(client.cluster_id({.timeout = kAnswersIn}));
                   })
      .def("close", [](Client& client) {
        const Unlocked unlocked;
        client.Close();
      });
}

}  // namespace hoplite::python
