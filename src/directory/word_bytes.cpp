#include "directory/word_bytes.h"

#include <variant>

namespace hoplite::directory {
namespace {

// Ids, stamps, small numbers and the frame around them.
constexpr std::size_t kFixed = 64;
constexpr std::size_t kPerMark = 5;
constexpr std::size_t kPerInput = 48;

// Fields are looked up by name: messages share them, and one that a message lacks adds nothing.
template <typename Message>
std::size_t BytesOf(const Message& message) {
  std::size_t bytes = kFixed;
  if constexpr (requires { message.metadata; }) bytes += message.metadata.size();
  if constexpr (requires { message.marks; }) bytes += message.marks.size() * kPerMark;
  if constexpr (requires { message.message; }) bytes += message.message.size();
  if constexpr (requires { message.node_name; }) bytes += message.node_name.size();
  if constexpr (requires { message.source; }) {
    bytes += message.source.name.size() + message.source.address.size();
  }
  if constexpr (requires { message.order; }) bytes += BytesOf(message.order);
  if constexpr (requires { message.orders; }) {
    for (const auto& planned : message.orders) bytes += BytesOf(planned);
  }
  if constexpr (requires { message.inputs; }) {
    bytes += message.inputs.size() * kPerInput + message.parents.size() * kPerMark;
  }
  if constexpr (requires { message.shard_fold; }) {
    bytes += message.shard_fold.sources.size() * kPerInput + message.shard_fold.metadata.size() +
             message.shard_fold.alike.value_or("").size();
  }
  if constexpr (requires { message.used; }) bytes += message.used.size() * kPerInput;
  if constexpr (requires { message.inline_bytes; }) {
    if (message.inline_bytes) bytes += message.inline_bytes->size();
  }
  if constexpr (requires { message.bytes; }) {
    if (message.bytes) bytes += message.bytes->size();
  }
  if constexpr (requires { message.knows; }) {
    if (message.knows) bytes += kFixed + message.knows->value.size();
    if (message.call && message.call->write) bytes += kFixed + message.call->write->value.size();
  }
  if constexpr (requires { message.entry; }) bytes += kFixed + message.entry.value.size();
  return bytes;
}

}  // namespace

std::size_t WordBytes(const protocol::NodeEvent& event) {
  return std::visit([](const auto& said) { return BytesOf(said); }, event);
}

std::size_t WordBytes(const protocol::NodeAction& action) {
  return std::visit([](const auto& said) { return BytesOf(said); }, action);
}

}  // namespace hoplite::directory
