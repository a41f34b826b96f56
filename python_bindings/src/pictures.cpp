// What a node and its directory know: objects, nodes, shards; and what changes.
#include <chrono>
#include <optional>
#include <sstream>
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

std::string Name(LocationKind kind) { return (std::ostringstream() << kind).str(); }

double Seconds(std::chrono::duration<double> time) { return time.count(); }

// What a user notes of an object.
using Users = nb::typed<nb::dict, nb::str, nb::any>;

void BindObjects(nb::module_& module) {
  Shown<HolderInfo>(module, "HolderInfo", "A copy of an object.")
      .def_ro("node", &HolderInfo::node, "The name of the node that has it.")
      .def_ro("complete", &HolderInfo::complete, "Whether it has all bytes.")
      .def_ro("valid_bytes", &HolderInfo::valid_bytes, "How many it has, as last reported.");
  Shown<TransferInfo>(module, "TransferInfo", "An object on its way between two nodes.")
      .def_ro("object", &TransferInfo::object, "Whose bytes these are.")
      .def_ro("from_node", &TransferInfo::from, "The name of the sender.")
      .def_ro("to_node", &TransferInfo::to, "The name of the receiver.")
      .def_ro("valid_bytes", &TransferInfo::valid_bytes, "How many bytes the receiver has.");
  Shown<WaiterInfo>(module, "WaiterInfo", "A node whose clients wait for an object.")
      .def_ro("node", &WaiterInfo::node, "Its name.")
      .def_ro("why", &WaiterInfo::why,
              "What it waits for: \"it does not exist\", \"its last copy was lost, on n2\".");
  Shown<RegisterInfo>(module, "RegisterInfo", "A register.")
      .def_prop_ro(
          "number",
          [](const RegisterInfo& info) {
            const nb::int_ high(info.number.incarnation);
            return nb::int_((high << nb::int_(64)) | nb::int_(info.number.sequence));
          },
          "Of its last write; 0: nobody wrote it yet.")
      .def_prop_ro(
          "value",
          [](const RegisterInfo& info) { return nb::bytes(info.value.data(), info.value.size()); },
          "What it holds.")
      .def_ro("writer", &RegisterInfo::writer,
              "The node of the client that claimed it last; empty: there is none.")
      .def_ro("nodes", &RegisterInfo::nodes, "How many nodes have it open.");
  Shown<ObjectInfo>(module, "ObjectInfo", "What the directory knows of an object: ``Client.info``.")
      .def_ro("id", &ObjectInfo::id, "Its id.")
      .def_ro("name", &ObjectInfo::name,
              "What its id was made of (``ObjectId.from_name``); empty: not known.")
      .def_ro("size_bytes", &ObjectInfo::size_bytes, "Of all of it; 0 if it is not known.")
      .def_ro("version", &ObjectInfo::version,
              "Which attempt to create it, \"incarnation.sequence\"; empty: none yet.")
      .def_prop_ro(
          "dtype",
          [](const ObjectInfo& info) -> std::optional<std::string> {
            if (!info.dtype) return std::nullopt;
            return std::string(Name(*info.dtype));
          },
          "Of its elements, as ``Client.put`` noted it, like \"float32\"; None: it noted none.")
      .def_ro("in_directory", &ObjectInfo::in_directory,
              "Whether it is so small that the directory itself holds the bytes.")
      .def_ro("holders", &ObjectInfo::holders, "The nodes that have it, or a part.")
      .def_ro("transfers", &ObjectInfo::transfers, "Who fetches it from whom.")
      .def_ro("waiters", &ObjectInfo::waiters, "Who can't fetch it yet, and why.")
      .def_prop_ro(
          "metadata",
          [](const ObjectInfo& info) {
            return nb::bytes(info.metadata.data(), info.metadata.size());
          },
          "What this package or another creator noted of the value, at most 4 KiB.")
      .def_prop_ro(
          "user_metadata",
          [](const ObjectInfo& info) {
            const nb::bytes metadata(info.metadata.data(), info.metadata.size());
            return nb::borrow<Users>(
                nb::module_::import_("hoplite._metadata").attr("users")(metadata));
          },
          "The dict that ``Client.put`` was given for `metadata`; empty: none.")
      .def_ro("ever_owned", &ObjectInfo::ever_owned,
              "Whether it is deleted when its last owner is gone.")
      .def_ro("owners", &ObjectInfo::owners, "How many nodes have clients that own it.")
      .def_prop_ro(
          "grace", [](const ObjectInfo& info) { return info.grace.transform(Seconds); },
          "For how many seconds after the death of these it is owned; None: the directory's time.")
      .def_prop_ro(
          "failure", [](const ObjectInfo& info) { return info.failure.transform(ExceptionOf); },
          "The error in place of its bytes (``Client.fail``); None: it did not fail.")
      .def_ro("as_register", &ObjectInfo::as_register,
              "The register of that name (``Client.register``); None: no node has one open.");
}

void BindCluster(nb::module_& module) {
  Shown<ProcessStatus>(module, "ProcessStatus", "What a member's process takes of its host.")
      .def_ro("version", &ProcessStatus::version, "Of Hoplite; empty: not known.")
      .def_ro("resident_bytes", &ProcessStatus::resident_bytes,
              "Memory that it has touched, what it maps included.")
      .def_ro("descriptors", &ProcessStatus::descriptors, "How many are open now.")
      .def_ro("descriptor_limit", &ProcessStatus::descriptor_limit, "How many may be.")
      .def_prop_ro(
          "processor_time",
          [](const ProcessStatus& process) { return Seconds(process.processor_time); },
          "Seconds of all its threads since its start.");
  Shown<NodeStatus>(module, "NodeStatus", "A node of the cluster, as the directory sees it.")
      .def_ro("name", &NodeStatus::name, "Unique in the cluster.")
      .def_ro("address", &NodeStatus::address, "HOST:PORT of its data plane.")
      .def_ro("alive", &NodeStatus::alive, "False: its session with the directory is interrupted.")
      .def_ro("memory_bytes", &NodeStatus::memory_bytes,
              "The size of its store; 0 where the asked node does not know.")
      .def_ro("used_bytes", &NodeStatus::used_bytes,
              "What of the store is taken; 0 where the asked node does not know.")
      .def_ro("bytes_per_second", &NodeStatus::bytes_per_second,
              "The measured rate of its link; 0: not measured yet.")
      .def_prop_ro(
          "rate_age", [](const NodeStatus& node) { return Seconds(node.rate_age); },
          "Seconds since the directory heard that rate last.")
      .def_prop_ro(
          "round_trip", [](const NodeStatus& node) { return Seconds(node.round_trip); },
          "Seconds to its peers and back; 0: not measured yet.")
      .def_ro(
          "corrupt_blocks", &NodeStatus::corrupt_blocks,
          "Blocks that failed their checksum on arrival since its start. They were fetched again.")
      .def_ro("disk_bytes", &NodeStatus::disk_bytes,
              "What objects may take of its disk; 0: it has none, or the asked node does not know.")
      .def_ro("disk_used_bytes", &NodeStatus::disk_used_bytes, "What they take of it.")
      .def_ro("process", &NodeStatus::process, "What its process takes, as it told last.");
  Shown<ShardStatus>(module, "ShardStatus", "What a shard of the directory keeps.")
      .def_ro("objects", &ShardStatus::objects, "How many objects it knows.")
      .def_ro("inline_bytes", &ShardStatus::inline_bytes,
              "Bytes of the small objects that the shard itself holds.")
      .def_ro("inline_total_bytes", &ShardStatus::inline_total_bytes, "The most that these may be.")
      .def_ro("away", &ShardStatus::away,
              "Why it did not answer, so that objects of it are missing; empty: it did.")
      .def_ro("held_by", &ShardStatus::held_by,
              "The address of the member that holds it; empty: it has one member.")
      .def_ro("stand_by", &ShardStatus::stand_by, "Those of the other members.")
      .def_ro("silent", &ShardStatus::silent,
              "Those of members that the holder did not hear lately.")
      .def_ro("process", &ShardStatus::process, "What its process takes.");
  Shown<ClusterStatus>(module, "ClusterStatus",
                       "A picture of the cluster, drawn in pages: it is not of one moment.")
      .def_ro("nodes", &ClusterStatus::nodes, "All that the directory knows.")
      .def_ro("objects", &ClusterStatus::objects, "In the order of ids; as many as were asked for.")
      .def_ro("shards", &ClusterStatus::shards, "Of the directory.")
      .def_prop_ro("object_count", &ClusterStatus::object_count,
                   "Of all objects, also those that are not listed.")
      .def("_repr_html_", [](const nb::handle self) { return SaidOf(self, "html"); });
}

void BindDrained(nb::module_& module) {
  Class<LeftObject>(module, "LeftObject", "An object that a drained node did not hand on.")
      .def_ro("id", &LeftObject::id, "Its id.")
      .def_prop_ro(
          "why", [](const LeftObject& left) { return ExceptionOf(left.why); }, "Why it is left.");
  Class<DrainOutcome>(module, "DrainOutcome", "The outcome of a drain.")
      .def_ro("handed_on", &DrainOutcome::handed_on,
              "How many objects only the drained node had, and another has now.")
      .def_ro("left_count", &DrainOutcome::left_count,
              "How many objects only the drained node may have, or still makes.")
      .def_ro("left", &DrainOutcome::left, "The first thousand of these.")
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
  Shown<LocationChange>(module, "LocationChange", "One change of an object's locations.")
      .def_prop_ro(
          "kind", [](const LocationChange& change) { return Name(change.kind); },
          "What the node has from now on: \"partial\", \"complete\" or \"gone\"; or "
          "\"in_directory\".")
      .def_ro("node", &LocationChange::node, "Its name; empty: the directory.")
      .def_ro("version", &LocationChange::version,
              "Which attempt to create the object, \"incarnation.sequence\".");
  Class<Subscription>(
      module, "Subscription",
      "The changes of an object's locations, in order, from ``Client.subscribe`` on.")
      .def(
          "next",
          [](Subscription& subscription, std::optional<double> timeout) {
            const auto wait = ToTimeout(timeout);
            return WithoutGil([&] { return subscription.Next(wait); });
          },
          nb::arg("timeout") = nb::none(),
          "The next change; waits for one if there is none.\n\n"
          "TimeoutError: nothing changed within `timeout` seconds. ResourceExhaustedError: more "
          "than 4096 changes were not fetched, and the subscription has ended. UnavailableError: "
          "the connection to the node has ended.");
}

}  // namespace hoplite::python
