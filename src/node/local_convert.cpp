#include "node/local_convert.h"

#include <string>

#include "base/ids.h"

namespace hoplite::node {
namespace {

std::string VersionText(const Version& version) { return version ? ToString(version) : ""; }

}  // namespace

void FillError(const Error& error, v1::local::Error& message) {
  message.set_code(static_cast<std::uint32_t>(error.code));
  message.set_message(error.message);
}

void FillObject(const planner::ObjectView& view, v1::local::ObjectInfo& message) {
  message.set_object(std::string(view.object.view()));
  message.set_size(view.size_bytes);
  message.set_version(VersionText(view.version));
  message.set_metadata(view.metadata);
  message.set_in_directory(view.inlined);
  for (const auto& holder : view.holders) {
    auto& added = *message.add_holders();
    added.set_node(holder.node_name);
    added.set_complete(holder.complete);
    added.set_valid_bytes(holder.valid_bytes);
  }
  for (const auto& transfer : view.transfers) {
    auto& added = *message.add_transfers();
    added.set_from(transfer.from_name);
    added.set_to(transfer.to_name);
    added.set_valid_bytes(transfer.valid_bytes);
  }
  for (const auto& waiter : view.waiters) {
    auto& added = *message.add_waiters();
    added.set_node(waiter.node_name);
    added.set_why(waiter.why);
  }
}

void FillNode(const planner::NodeView& view, v1::local::ClusterStatus::Node& message) {
  message.set_name(view.node.name);
  message.set_address(view.node.address);
  message.set_alive(view.alive);
  message.set_memory_bytes(view.usage.memory_bytes);
  message.set_used_bytes(view.usage.used_bytes);
}

void FillLocation(const planner::Location& location, v1::local::LocationChange& message) {
  message.set_kind(static_cast<std::uint32_t>(location.kind));
  message.set_node(location.node_name);
  message.set_version(VersionText(location.version));
}

}  // namespace hoplite::node
