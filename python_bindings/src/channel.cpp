#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <hoplite/channel.h>
#include <hoplite/client.h>

#include "answers.h"
#include "bind.h"
#include "errors.h"
#include "gil.h"
#include "held_buffer.h"
#include "memory.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

// Name, dtype, shape, metadata.
using Said = std::tuple<std::string, std::string, std::vector<std::uint64_t>, nb::bytes>;
// The same, and where it lies: object (none: in memory of the snapshot's own), offset, bytes.
using Lying = std::tuple<Said, std::optional<std::size_t>, std::uint64_t, std::uint64_t>;

nb::bytes ToBytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }
std::string ToText(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

Said SaidOf(const Part& part) {
  return {part.name, part.dtype, part.shape, ToBytes(part.metadata)};
}

Lying LyingOf(const Part& part, const Snapshot& snapshot) {
  if (part.bytes.empty()) return {SaidOf(part), 0, 0, 0};
  const std::span<const Buffer> objects = snapshot.objects();
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::span<const std::byte> bytes = objects[i].bytes();
    const bool inside = part.bytes.data() >= bytes.data() &&
                        part.bytes.data() + part.bytes.size() <= bytes.data() + bytes.size();
    if (!inside) continue;
    const auto offset = static_cast<std::uint64_t>(part.bytes.data() - bytes.data());
    return {SaidOf(part), i, offset, part.bytes.size()};
  }
  return {SaidOf(part), std::nullopt, 0, part.bytes.size()};
}

// Name, dtype, shape, metadata, memory.
using Given = nb::typed<nb::tuple, std::string, std::string,
                        nb::typed<nb::tuple, std::uint64_t, nb::ellipsis>, nb::bytes, nb::any>;
using GivenParts = nb::typed<nb::list, Given>;

// Those of a list, and the memory while C++ reads it.
class HeldParts {
 public:
  explicit HeldParts(const GivenParts& parts) {
    for (const nb::handle part : parts) {
      const auto said = nb::cast<nb::tuple>(part);
      parts_.push_back({
          .name = nb::cast<std::string>(said[0]),
          .bytes = held_.emplace_back(said[4], HeldBuffer::Access::kRead).bytes(),
          .dtype = nb::cast<std::string>(said[1]),
          .shape = nb::cast<std::vector<std::uint64_t>>(said[2]),
          .metadata = ToText(nb::cast<nb::bytes>(said[3])),
      });
    }
  }
  std::span<const Part> parts() const { return parts_; }

 private:
  std::deque<HeldBuffer> held_;
  std::vector<Part> parts_;
};

// A part in memory of its snapshot's own, which nobody else has: it may be written to.
class OwnPart {
 public:
  OwnPart(Snapshot snapshot, std::size_t index) : snapshot_(std::move(snapshot)), index_(index) {}
  std::span<const std::byte> bytes() const { return snapshot_.parts()[index_].bytes; }

 private:
  Snapshot snapshot_;
  std::size_t index_;
};

int ExportPart(PyObject* self, Py_buffer* out, int flags) {
  const std::span<const std::byte> bytes = nb::inst_ptr<OwnPart>(nb::handle(self))->bytes();
  return PyBuffer_FillInfo(out, self, const_cast<std::byte*>(bytes.data()),
                           static_cast<Py_ssize_t>(bytes.size()), 0, flags);
}

PyType_Slot part_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&ExportPart)}, {0, nullptr}};

// Its end asks the node: without the GIL.
class OpenChannel {
 public:
  explicit OpenChannel(Channel channel) : channel_(std::move(channel)) {}
  OpenChannel(OpenChannel&&) noexcept = default;
  OpenChannel& operator=(OpenChannel&&) = delete;
  ~OpenChannel() {
    const Unlocked unlocked;
    channel_.reset();
  }
  Channel& channel() { return *channel_; }

 private:
  std::optional<Channel> channel_;
};

OpenChannel Open(Client& client, const std::string& name, std::uint32_t keep, bool take_over,
                 bool deltas, std::optional<double> timeout) {
  const ChannelOptions options{
      .keep = keep, .take_over = take_over, .deltas = deltas, .timeout = ToTimeout(timeout)};
  return OpenChannel(WithoutGil([&] { return client.OpenChannel(name, options); }));
}

std::uint64_t Publish(OpenChannel& opened, const GivenParts& parts, const nb::bytes& metadata,
                      std::optional<std::uint64_t> version, std::optional<double> timeout) {
  const HeldParts held(parts);
  const PublishOptions options{
      .version = version, .metadata = ToText(metadata), .timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return opened.channel().Publish(held.parts(), options); });
}

std::optional<std::uint64_t> Latest(OpenChannel& opened, std::optional<double> timeout) {
  const CallOptions options{.timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return opened.channel().Latest(options); });
}

Future<Snapshot> BeginGet(OpenChannel& opened, std::uint64_t at_least,
                          std::optional<std::uint64_t> exactly,
                          const std::optional<ObjectId>& after, bool wait_for_successor,
                          std::optional<double> timeout) {
  const VersionOptions options{.at_least = at_least,
                               .exactly = exactly,
                               .after = after,
                               .wait_for_successor = wait_for_successor,
                               .timeout = ToTimeout(timeout)};
  const Unlocked unlocked;
  return opened.channel().GetAsync(options);
}

SnapshotStream Stream(OpenChannel& opened, std::uint64_t at_least,
                      std::optional<std::uint64_t> exactly, std::optional<double> timeout) {
  const VersionOptions options{
      .at_least = at_least, .exactly = exactly, .timeout = ToTimeout(timeout)};
  return WithoutGil([&] { return opened.channel().Stream(options); });
}

std::vector<View> ObjectsOf(const Snapshot& snapshot) {
  std::vector<View> views;
  for (const Buffer& object : snapshot.objects()) views.emplace_back(object);
  return views;
}

std::vector<Lying> PartsOf(const Snapshot& snapshot) {
  std::vector<Lying> parts;
  for (const Part& part : snapshot.parts()) parts.push_back(LyingOf(part, snapshot));
  return parts;
}

// The next part and a copy of its bytes; None: that was all.
std::optional<std::pair<Said, nb::bytearray>> NextOf(SnapshotStream& stream,
                                                     std::optional<double> timeout) {
  const std::chrono::milliseconds wait = ToTimeout(timeout);
  const Part* const part = WithoutGil([&] { return stream.Next(wait); });
  if (part == nullptr) return std::nullopt;
  const std::span<const std::byte> bytes = part->bytes;
  nb::bytearray copy(nullptr, bytes.size());
  char* const into = PyByteArray_AsString(copy.ptr());
  {
    const Unlocked unlocked;
    if (!bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
  }
  return std::pair(SaidOf(*part), std::move(copy));
}

}  // namespace

void BindChannel(nb::module_& module) {
  const nb::object none = nb::none();
  Class<Snapshot>(module, "ChannelSnapshot")
      .def_prop_ro("id", [](const Snapshot& snapshot) { return snapshot.id(); })
      .def_prop_ro("version", &Snapshot::version)
      .def_prop_ro("metadata",
                   [](const Snapshot& snapshot) { return ToBytes(snapshot.metadata()); })
      .def_prop_ro("objects", &ObjectsOf)
      .def_prop_ro("parts", &PartsOf)
      .def(
          "own_part",
          [](const Snapshot& snapshot, std::size_t index) { return OwnPart(snapshot, index); },
          nb::arg("index"));
  Class<OwnPart>(module, "OwnPart", nb::type_slots(part_slots));
  BindAnswer<Snapshot>(module, "SnapshotLater");
  Class<SnapshotStream>(module, "SnapshotStream")
      .def_prop_ro("version", &SnapshotStream::version)
      .def("next", &NextOf, nb::arg("timeout") = none);
  Class<OpenChannel>(module, "Channel")
      .def("publish", &Publish, nb::arg("parts"), nb::arg("metadata"), nb::arg("version") = none,
           nb::arg("timeout") = none)
      .def("latest", &Latest, nb::arg("timeout") = none)
      .def("get_later", &BeginGet, nb::arg("at_least") = 0, nb::arg("exactly") = none,
           nb::arg("after") = none, nb::arg("wait_for_successor") = false,
           nb::arg("timeout") = none)
      .def("stream", &Stream, nb::arg("at_least") = 0, nb::arg("exactly") = none,
           nb::arg("timeout") = none)
      .def("close", [](OpenChannel& opened) {
        const Unlocked unlocked;
        opened.channel().Close();
      });
  module.def("open_channel", &Open, nb::arg("client"), nb::arg("name"), nb::arg("keep"),
             nb::arg("take_over"), nb::arg("deltas"), nb::arg("timeout") = none);
}

}  // namespace hoplite::python
