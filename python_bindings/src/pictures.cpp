// What a node and its directory know: objects, nodes, shards; and what changes.
#include <chrono>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <hoplite/client.h>

#include "bind.h"
#include "errors.h"
#include "gil.h"
#include "shown.h"

namespace hoplite::python {

namespace nb = nanobind;

namespace {

const char* Name(LocationKind kind) {
  switch (kind) {
    case LocationKind::kPartial:
      return "partial";
    case LocationKind::kComplete:
      return "complete";
    case LocationKind::kGone:
      return "gone";
    default:
      return "in_directory";
  }
}

void BindObjects(nb::module_& module) {
  Shown<HolderInfo>(module, "HolderInfo")
      .def_ro("node", &HolderInfo::node)
      .def_ro("complete", &HolderInfo::complete)
      .def_ro("valid_bytes", &HolderInfo::valid_bytes);
  Shown<TransferInfo>(module, "TransferInfo")
      .def_ro("object", &TransferInfo::object)
      .def_ro("from_node", &TransferInfo::from)
      .def_ro("to_node", &TransferInfo::to)
      .def_ro("valid_bytes", &TransferInfo::valid_bytes);
  Shown<WaiterInfo>(module, "WaiterInfo")
      .def_ro("node", &WaiterInfo::node)
      .def_ro("why", &WaiterInfo::why);
  Shown<RegisterInfo>(module, "RegisterInfo")
      .def_prop_ro("number",
                   [](const RegisterInfo& info) {
                     const nb::int_ high(info.number.incarnation);
                     return (high << nb::int_(64)) | nb::int_(info.number.sequence);
                   })
      .def_prop_ro(
          "value",
          [](const RegisterInfo& info) { return nb::bytes(info.value.data(), info.value.size()); })
      .def_ro("writer", &RegisterInfo::writer)
      .def_ro("nodes", &RegisterInfo::nodes);
  Shown<ObjectInfo>(module, "ObjectInfo")
      .def_ro("id", &ObjectInfo::id)
      .def_ro("size_bytes", &ObjectInfo::size_bytes)
      .def_ro("version", &ObjectInfo::version)
      .def_prop_ro("dtype",
                   [](const ObjectInfo& info) -> std::optional<std::string> {
                     if (!info.dtype) return std::nullopt;
                     return std::string(Name(*info.dtype));
                   })
      .def_ro("in_directory", &ObjectInfo::in_directory)
      .def_ro("holders", &ObjectInfo::holders)
      .def_ro("transfers", &ObjectInfo::transfers)
      .def_ro("waiters", &ObjectInfo::waiters)
      .def_ro("ever_owned", &ObjectInfo::ever_owned)
      .def_ro("owners", &ObjectInfo::owners)
      .def_prop_ro("grace",
                   [](const ObjectInfo& info) -> std::optional<double> {
                     if (!info.grace) return std::nullopt;
                     return std::chrono::duration<double>(*info.grace).count();
                   })
      .def_ro("as_register", &ObjectInfo::as_register)
      .def_prop_ro("failure",
                   [](const ObjectInfo& info) {
                     return info.failure ? ExceptionOf(*info.failure) : nb::none();
                   })
      .def_prop_ro("metadata",
                   [](const ObjectInfo& info) {
                     return nb::bytes(info.metadata.data(), info.metadata.size());
                   })
      .def_prop_ro("user_metadata", [](const ObjectInfo& info) {
        const nb::bytes metadata(info.metadata.data(), info.metadata.size());
        return nb::module_::import_("hoplite._metadata").attr("users")(metadata);
      });
}

void BindCluster(nb::module_& module) {
  Shown<NodeStatus>(module, "NodeStatus")
      .def_ro("name", &NodeStatus::name)
      .def_ro("address", &NodeStatus::address)
      .def_ro("alive", &NodeStatus::alive)
      .def_ro("memory_bytes", &NodeStatus::memory_bytes)
      .def_ro("used_bytes", &NodeStatus::used_bytes)
      .def_ro("bytes_per_second", &NodeStatus::bytes_per_second)
      .def_prop_ro("rate_age",
                   [](const NodeStatus& node) {
                     return std::chrono::duration<double>(node.rate_age).count();
                   })
      .def_prop_ro("round_trip",
                   [](const NodeStatus& node) {
                     return std::chrono::duration<double>(node.round_trip).count();
                   })
      .def_ro("corrupt_blocks", &NodeStatus::corrupt_blocks);
  Shown<ShardStatus>(module, "ShardStatus")
      .def_ro("objects", &ShardStatus::objects)
      .def_ro("inline_bytes", &ShardStatus::inline_bytes)
      .def_ro("inline_total_bytes", &ShardStatus::inline_total_bytes)
      .def_ro("away", &ShardStatus::away);
  Shown<ClusterStatus>(module, "ClusterStatus")
      .def_ro("nodes", &ClusterStatus::nodes)
      .def_ro("objects", &ClusterStatus::objects)
      .def_ro("shards", &ClusterStatus::shards)
      .def_prop_ro("object_count", &ClusterStatus::object_count)
      .def("_repr_html_", [](const nb::handle self) { return SaidOf(self, "html"); });
}

void BindDrained(nb::module_& module) {
  nb::class_<LeftObject>(module, "LeftObject")
      .def_ro("id", &LeftObject::id)
      .def_prop_ro("why", [](const LeftObject& left) { return ExceptionOf(left.why); });
  nb::class_<DrainOutcome>(module, "DrainOutcome")
      .def_ro("handed_on", &DrainOutcome::handed_on)
      .def_ro("left_count", &DrainOutcome::left_count)
      .def_ro("left", &DrainOutcome::left)
      .def("__repr__", [](const DrainOutcome& outcome) {
        return "DrainOutcome(handed_on=" + std::to_string(outcome.handed_on) +
               ", left_count=" + std::to_string(outcome.left_count) + ")";
      });
}

}  // namespace

void BindPictures(nb::module_& module) {
  BindObjects(module);
  BindCluster(module);
  BindDrained(module);
  Shown<LocationChange>(module, "LocationChange")
      .def_prop_ro("kind", [](const LocationChange& change) { return Name(change.kind); })
      .def_ro("node", &LocationChange::node)
      .def_ro("version", &LocationChange::version);
  nb::class_<Subscription>(module, "Subscription")
      .def(
          "next",
          [](Subscription& subscription, std::optional<double> timeout) {
            const auto wait = ToTimeout(timeout);
            return WithoutGil([&] { return subscription.Next(wait); });
          },
          nb::arg("timeout") = nb::none());
}

}  // namespace hoplite::python
