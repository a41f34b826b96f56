#include "sim/kit/message_digest.h"

namespace hoplite::sim {
namespace {

void Add(Digest& digest, const StripeMarks& marks) {
  for (const std::uint32_t mark : marks) digest.Add(mark);
  digest.Add(marks.size());
}

void Add(Digest& digest, const protocol::SlotOrder& order) {
  digest.Add(order.slot).Add(order.stripes).Add(order.children).Add(order.node);
  for (const std::uint32_t parent : order.parents) digest.Add(parent);
  for (const protocol::SlotInput& input : order.inputs) digest.Add(input.object).Add(input.version);
}

// Fields are looked up by name: messages share them, and one that a message lacks adds nothing.
template <typename Message>
void AddFields(Digest& digest, const Message& message) {
  if constexpr (requires { message.object; }) digest.Add(message.object);
  if constexpr (requires { message.version; }) digest.Add(message.version);
  if constexpr (requires { message.grant; }) digest.Add(message.grant);
  if constexpr (requires { message.marks; }) Add(digest, message.marks);
  if constexpr (requires { message.outcome; }) digest.Add(message.outcome).Add(message.failure);
  if constexpr (requires { message.reason; }) digest.Add(message.reason);
  if constexpr (requires { message.complete; }) digest.Add(message.complete);
  if constexpr (requires { message.producing; }) digest.Add(message.producing);
  if constexpr (requires { message.produces; }) digest.Add(message.produces);
  if constexpr (requires { message.upstreams; }) {
    for (const protocol::Upstream& from : message.upstreams) {
      digest.Add(from.node).Add(from.grant).Add(from.stripes);
    }
    digest.Add(message.upstreams.size());
  }
  if constexpr (requires { message.source; }) digest.Add(message.source.id);
  if constexpr (requires { message.stripes; }) digest.Add(message.stripes);
  if constexpr (requires { message.equality_ok; }) digest.Add(message.equality_ok);
  if constexpr (requires { message.replaces; }) digest.Add(message.replaces);
  if constexpr (requires { message.remaining; }) {
    digest.Add(static_cast<std::uint64_t>(message.remaining.count()));
  }
  if constexpr (requires { message.inline_bytes; }) {
    if (message.inline_bytes != nullptr) digest.Add(*message.inline_bytes);
  }
  if constexpr (requires { message.bytes->size(); }) digest.Add(*message.bytes);
  if constexpr (requires { message.kind; }) digest.Add(message.node).Add(message.kind);
  if constexpr (requires { message.request; }) digest.Add(message.request);
  if constexpr (requires { message.attempt; }) digest.Add(message.attempt);
  if constexpr (requires { message.slot; }) digest.Add(message.slot);
  if constexpr (requires { message.input; }) digest.Add(message.input).Add(message.input_version);
  if constexpr (requires { message.order; }) Add(digest, message.order);
  if constexpr (requires { message.orders; }) {
    for (const protocol::PlannedOrder& planned : message.orders) {
      Add(digest.Add(planned.attempt), planned.order);
    }
  }
  if constexpr (requires { message.code; }) digest.Add(message.code);
  // What is of owned objects only adds nothing where there are none.
  if constexpr (requires { message.number; }) {
    if (message.number != 0) digest.Add(message.number);
  }
  if constexpr (requires { message.own; }) digest.Add(message.own);
  if constexpr (requires { message.result; }) digest.Add(message.result);
  if constexpr (requires { message.owned; }) {
    if (message.owned) digest.Add(true);
  }
  if constexpr (requires { message.only_if_owned; }) {
    if (message.only_if_owned) digest.Add(false);
  }
  if constexpr (requires { message.ever_owned; }) {
    if (message.ever_owned) digest.Add(true);
  }
  // Likewise room, which most do without.
  if constexpr (requires { message.room; }) {
    if (message.room != 0) digest.Add(message.room);
  }
  if constexpr (requires { message.wanted; }) {
    if (message.wanted != 0) digest.Add(message.wanted);
  }
  if constexpr (requires { message.used; }) {
    for (const ObjectId& source : message.used) digest.Add(source);
  }
  if constexpr (requires { message.highest_incarnation; }) {
    digest.Add(message.node.id).Add(message.highest_incarnation);
  }
}

}  // namespace

void AddTo(Digest& digest, const planner::EventBody& event) {
  digest.Add(event.index());
  if (const auto* said = std::get_if<planner::NodeSaid>(&event)) {
    digest.Add(said->node);
    AddTo(digest, said->event);
  } else if (const auto* joined = std::get_if<planner::NodeJoined>(&event)) {
    AddFields(digest, *joined);
  }
}

void AddTo(Digest& digest, const protocol::NodeEvent& event) {
  digest.Add(event.index());
  std::visit([&digest](const auto& message) { AddFields(digest, message); }, event);
}

void AddTo(Digest& digest, const protocol::NodeAction& action) {
  digest.Add(action.index());
  std::visit([&digest](const auto& message) { AddFields(digest, message); }, action);
}

}  // namespace hoplite::sim
