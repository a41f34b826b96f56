#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <hoplite/client.h>
#include <hoplite/reduce.h>

#include "bind.h"
#include "client/client_access.h"
#include "client/pending.h"
#include "errors.h"
#include "gil.h"
#include "held_buffer.h"
#include "later.h"
#include "memory.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

// What a node answers by itself.
constexpr std::chrono::seconds kAnswersIn{5};

std::string ToText(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

using Name = std::optional<std::string>;

std::optional<DType> ToDType(const Name& name) {
  return name ? std::optional(ValueOf(ParseDType(*name))) : std::nullopt;
}

PutOptions ToOptions(const std::optional<ObjectId>& id, const nb::bytes& metadata,
                     std::optional<double> timeout, bool owned, std::optional<double> grace,
                     bool only_if_owned, const Name& dtype) {
  return {.id = id.value_or(ObjectId()),
          .metadata = ToText(metadata),
          .dtype = ToDType(dtype),
          .owned = owned,
          .grace = ToGrace(grace),
          .only_if_owned = only_if_owned,
          .timeout = ToTimeout(timeout)};
}

ObjectId Put(Client& client, const Pieces& pieces, const std::optional<ObjectId>& id,
             const nb::bytes& metadata, std::optional<double> timeout, bool owned,
             std::optional<double> grace, bool only_if_owned, const Name& dtype) {
  const HeldPieces held(pieces);
  const PutOptions options = ToOptions(id, metadata, timeout, owned, grace, only_if_owned, dtype);
  return WithoutGil([&] { return client.Put(held.spans(), options); });
}

PutLater BeginPut(Client& client, const Pieces& pieces, const std::optional<ObjectId>& id,
                  const nb::bytes& metadata, std::optional<double> timeout, bool owned,
                  std::optional<double> grace, bool only_if_owned, const Name& dtype) {
  auto held = std::make_unique<HeldPieces>(pieces);
  const PutOptions options = ToOptions(id, metadata, timeout, owned, grace, only_if_owned, dtype);
  Future<ObjectId> future = [&] {
    const Unlocked unlocked;
    return client.PutAsync(held->spans(), options);
  }();
  return {std::move(held), std::move(future)};
}

OpenDraft Create(Client& client, const ObjectId& id, std::uint64_t size_bytes,
                 const nb::bytes& metadata, std::optional<double> timeout, bool owned,
                 std::optional<double> grace, bool only_if_owned, const Name& dtype) {
  const CreateOptions options{.metadata = ToText(metadata),
                              .dtype = ToDType(dtype),
                              .owned = owned,
                              .grace = ToGrace(grace),
                              .only_if_owned = only_if_owned,
                              .timeout = ToTimeout(timeout)};
  return OpenDraft(WithoutGil([&] { return client.Create(id, size_bytes, options); }));
}

View Get(Client& client, const ObjectId& id, std::optional<double> timeout, bool only_if_owned) {
  const CallOptions options{.only_if_owned = only_if_owned, .timeout = ToTimeout(timeout)};
  return View(WithoutGil([&] { return client.Get(id, options); }));
}

Future<Buffer> BeginGet(Client& client, const ObjectId& id, std::optional<double> timeout,
                        bool only_if_owned) {
  const CallOptions options{.only_if_owned = only_if_owned, .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return client.GetAsync(id, options);
}

// Of several objects: the first error; of those that time is over for, how many they are.
template <typename T>
Error FirstError(const std::vector<Result<T>>& answers) {
  const auto failed = [](const Result<T>& answer) { return !answer; };
  Error first = std::ranges::find_if(answers, failed)->error();
  if (first.code == ErrorCode::kTimeout && answers.size() > 1) {
    first.message += "; " + std::to_string(std::ranges::count_if(answers, failed)) + " of " +
                     std::to_string(answers.size()) + " objects are missing";
  }
  return first;
}

std::vector<View> GetMany(Client& client, const std::vector<ObjectId>& ids,
                          std::optional<double> timeout, bool only_if_owned) {
  const CallOptions options{.only_if_owned = only_if_owned, .timeout = ToTimeout(timeout)};
  auto buffers = WithoutGil([&]() -> Result<std::vector<Buffer>> {
    std::vector<Result<Buffer>> answers = client.GetMany(ids, options);
    if (!std::ranges::all_of(answers, &Result<Buffer>::has_value)) {
      return std::unexpected(FirstError(answers));
    }
    std::vector<Buffer> all;
    for (Result<Buffer>& answer : answers) all.push_back(*std::move(answer));
    return all;
  });
  std::vector<View> views;
  for (Buffer& buffer : buffers) views.emplace_back(std::move(buffer));
  return views;
}

// Of its place, metadata and size.
using RoomFor = nb::typed<nb::callable, nb::memoryview(std::size_t, nb::bytes, std::uint64_t)>;

// What the caller's function gives for this object; what it raises waits in this thread's state.
Result<std::span<std::byte>> Ask(const RoomFor& room_for, std::size_t place,
                                 const std::string& metadata, std::uint64_t size_bytes,
                                 std::optional<HeldBuffer>& held) {
  try {
    const nb::bytes described(metadata.data(), metadata.size());
    held.emplace(room_for(place, described, size_bytes), HeldBuffer::Access::kWrite);
    return held->bytes();
  } catch (nb::python_error& raised) {
    raised.restore();
    return std::unexpected(Error(ErrorCode::kCancelled, "there is no room for the object"));
  }
}

void GetInto(Client& client, const std::vector<ObjectId>& ids, const RoomFor& room_for,
             std::optional<double> timeout, bool only_if_owned) {
  std::vector<std::optional<HeldBuffer>> held(ids.size());
  const CallOptions options{.only_if_owned = only_if_owned, .timeout = ToTimeout(timeout)};
  WithoutGil([&](Unlocked& unlocked) -> Result<void> {
    const auto room = [&](std::size_t place, const std::string& metadata, std::uint64_t size) {
      return unlocked.Locked([&] { return Ask(room_for, place, metadata, size, held[place]); });
    };
    const auto answers = ClientAccess::GetManyInto(client, ids, room, options);
    if (std::ranges::all_of(answers, &Result<std::uint64_t>::has_value)) return {};
    return std::unexpected(FirstError(answers));
  });
}

Reduction Reduce(Client& client, std::vector<ObjectId> sources, const std::string& op,
                 const std::string& dtype, std::optional<std::uint64_t> num_objects,
                 const std::optional<ObjectId>& target, const nb::bytes& alike, bool fixed_order,
                 bool everyone_reads, std::optional<double> timeout, bool owned,
                 std::optional<double> grace, bool only_if_owned, std::uint64_t folded_bytes) {
  const ReduceOptions options{.sources = std::move(sources),
                              .op = ValueOf(ParseOp(op)),
                              .dtype = ValueOf(ParseDType(dtype)),
                              .folded_bytes = folded_bytes,
                              .num_objects = num_objects,
                              .target = target.value_or(ObjectId()),
                              .alike = ToText(alike),
                              .fixed_order = fixed_order,
                              .everyone_reads = everyone_reads,
                              .owned = owned,
                              .grace = ToGrace(grace),
                              .only_if_owned = only_if_owned,
                              .timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.Reduce(options); });
}

void Delete(Client& client, const std::vector<ObjectId>& ids, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  WithoutGil([&] { return client.Delete(std::span(ids), options); });
}

void Own(Client& client, const std::vector<ObjectId>& ids, std::optional<double> timeout,
         std::optional<double> grace) {
  const CallOptions options{.grace = ToGrace(grace), .timeout = ToTimeout(timeout)};
  WithoutGil([&] { return client.Own(std::span(ids), options); });
}

void Disown(Client& client, const std::vector<ObjectId>& ids, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  WithoutGil([&] { return client.Disown(std::span(ids), options); });
}

// With the GIL: it waits for nobody, and may be called by a finalizer.
void DisownSoon(Client& client, const std::vector<ObjectId>& ids) { client.DisownSoon(ids); }

Future<void> BeginDelete(Client& client, const std::vector<ObjectId>& ids,
                         std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return client.DeleteAsync(ids, options);
}

Future<void> BeginOwn(Client& client, const std::vector<ObjectId>& ids,
                      std::optional<double> timeout, std::optional<double> grace) {
  const CallOptions options{.grace = ToGrace(grace), .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return client.OwnAsync(ids, options);
}

void Fail(Client& client, const ObjectId& id, std::string_view code, const std::string& message,
          std::optional<double> timeout, bool owned, std::optional<double> grace,
          bool only_if_owned) {
  const Error error(CodeNamed(code), message);
  const FailOptions options{.owned = owned,
                            .grace = ToGrace(grace),
                            .only_if_owned = only_if_owned,
                            .timeout = ToTimeout(timeout)};
  WithoutGil([&] { return client.Fail(id, error, options); });
}

ObjectInfo Info(Client& client, const ObjectId& id, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.Info(id, options); });
}

std::string Why(Client& client, const ObjectId& id, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.Why(id, options); });
}

// Of each object what is known of it, or the exception that says why nothing is.
using Known = nb::typed<nb::list, std::variant<ObjectInfo, Exception>>;

Known Infos(Client& client, const std::vector<ObjectId>& ids, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  const auto infos = WithoutGil([&]() -> Result<std::vector<Result<ObjectInfo>>> {
    return client.Info(std::span(ids), options);
  });
  Known given;
  for (const Result<ObjectInfo>& info : infos) {
    given.append(info ? nb::cast(*info) : ExceptionOf(info.error()));
  }
  return given;
}

Ending UntilEnd(Client& client, std::optional<double> timeout) {
  const Time deadline = client::DeadlineAfter(ToTimeout(timeout));
  const Unlocked unlocked;
  return Ending(ClientAccess::UntilEnd(client, deadline));
}

ClusterStatus Status(Client& client, std::optional<double> timeout,
                     std::optional<std::uint64_t> max_objects) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.Status(options, max_objects.value_or(kAllObjects)); });
}

DrainOutcome Drain(Client& client, std::optional<double> timeout) {
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  return WithoutGil([&] { return client.Drain(wait); });
}

Subscription Subscribe(Client& client, const ObjectId& id, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.Subscribe(id, options); });
}

Register OpenRegister(Client& client, const std::string& name, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.OpenRegister(name, options); });
}

std::vector<ObjectId> WaitExists(Client& client, const std::vector<ObjectId>& ids,
                                 std::size_t count, std::optional<double> timeout,
                                 bool only_if_owned) {
  const CallOptions options{.only_if_owned = only_if_owned, .timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.WaitExists(ids, count, options); });
}

std::vector<ObjectId> WaitGone(Client& client, const std::vector<ObjectId>& ids,
                               std::optional<double> timeout, bool only_if_owned) {
  const CallOptions options{.only_if_owned = only_if_owned, .timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return client.WaitGone(ids, options); });
}

}  // namespace

void BindClient(nb::module_& module) {
  const nb::object none = nb::none();
  const auto metadata = nb::arg("metadata").sig("b''") = nb::bytes("");
  Class<Client>(module, "Client")
      .def_static(
          "connect",
          [](const std::string& socket, std::optional<double> timeout) {
            const std::chrono::milliseconds wait = ToTimeout(timeout);
            return WithoutGil([&] { return Client::Connect(socket, wait); });
          },
          nb::arg("socket"), nb::arg("timeout") = none)
      .def("put", &Put, nb::arg("pieces"), nb::arg("id") = none, metadata,
           nb::arg("timeout") = none, nb::arg("owned") = false, nb::arg("grace") = none,
           nb::arg("only_if_owned") = false, nb::arg("dtype") = none)
      .def("put_later", &BeginPut, nb::arg("pieces"), nb::arg("id") = none, metadata,
           nb::arg("timeout") = none, nb::arg("owned") = false, nb::arg("grace") = none,
           nb::arg("only_if_owned") = false, nb::arg("dtype") = none)
      .def("create", &Create, nb::arg("id"), nb::arg("size_bytes"), metadata,
           nb::arg("timeout") = none, nb::arg("owned") = false, nb::arg("grace") = none,
           nb::arg("only_if_owned") = false, nb::arg("dtype") = none)
      .def("get", &Get, nb::arg("id"), nb::arg("timeout") = none, nb::arg("only_if_owned") = false)
      .def("get_later", &BeginGet, nb::arg("id"), nb::arg("timeout") = none,
           nb::arg("only_if_owned") = false)
      .def("get_many", &GetMany, nb::arg("ids"), nb::arg("timeout") = none,
           nb::arg("only_if_owned") = false)
      .def("get_into", &GetInto, nb::arg("ids"), nb::arg("room_for"), nb::arg("timeout") = none,
           nb::arg("only_if_owned") = false)
      .def("reduce", &Reduce, nb::arg("sources"), nb::arg("op"), nb::arg("dtype"),
           nb::arg("num_objects") = none, nb::arg("target") = none,
           nb::arg("alike").sig("b''") = nb::bytes(""), nb::arg("fixed_order") = false,
           nb::arg("everyone_reads") = false, nb::arg("timeout") = none, nb::arg("owned") = false,
           nb::arg("grace") = none, nb::arg("only_if_owned") = false, nb::arg("folded_bytes") = 0)
      .def("delete", &Delete, nb::arg("ids"), nb::arg("timeout") = none)
      .def("fail", &Fail, nb::arg("id"), nb::arg("code"), nb::arg("message"),
           nb::arg("timeout") = none, nb::arg("owned") = false, nb::arg("grace") = none,
           nb::arg("only_if_owned") = false)
      .def("own", &Own, nb::arg("ids"), nb::arg("timeout") = none, nb::arg("grace") = none)
      .def("disown", &Disown, nb::arg("ids"), nb::arg("timeout") = none)
      .def("disown_soon", &DisownSoon, nb::arg("ids"))
      .def("delete_later", &BeginDelete, nb::arg("ids"), nb::arg("timeout") = none)
      .def("own_later", &BeginOwn, nb::arg("ids"), nb::arg("timeout") = none,
           nb::arg("grace") = none)
      .def("info", &Info, nb::arg("id"), nb::arg("timeout") = none)
      .def("why", &Why, nb::arg("id"), nb::arg("timeout") = none)
      .def("infos", &Infos, nb::arg("ids"), nb::arg("timeout") = none)
      .def("until_end", &UntilEnd, nb::arg("timeout") = none)
      .def("status", &Status, nb::arg("timeout") = none, nb::arg("max_objects") = none)
      .def("drain", &Drain, nb::arg("timeout"))
      .def("subscribe", &Subscribe, nb::arg("id"), nb::arg("timeout") = none)
      .def("open_register", &OpenRegister, nb::arg("name"), nb::arg("timeout") = none)
      .def("wait_exists", &WaitExists, nb::arg("ids"), nb::arg("count"), nb::arg("timeout") = none,
           nb::arg("only_if_owned") = false)
      .def("wait_gone", &WaitGone, nb::arg("ids"), nb::arg("timeout") = none,
           nb::arg("only_if_owned") = false)
      .def_prop_ro("node_name",
                   [](const Client& client) {
                     const Unlocked unlocked;
                     return client.node_name();
                   })
      .def_prop_ro("cluster_id",
                   [](const Client& client) {
                     return WithoutGil([&] { return client.cluster_id({.timeout = kAnswersIn}); });
                   })
      .def("close", [](Client& client) {
        const Unlocked unlocked;
        client.Close();
      });
}

}  // namespace hoplite::python
