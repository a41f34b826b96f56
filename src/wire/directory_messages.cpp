// The session's own messages, and the pictures for status.
#include "wire/directory_messages.h"

#include "base/text.h"
#include "base/try.h"
#include "wire/checked_fields.h"

namespace hoplite::wire {

v1::Hello ToProto(const Hello& hello) {
  v1::Hello message;
  message.set_protocol(hello.protocol);
  message.set_node(Raw(hello.node.id));
  message.set_name(hello.node.name);
  message.set_address(hello.node.address);
  message.set_cluster(hello.cluster);
  message.set_shard_index(static_cast<std::uint32_t>(hello.shard_index));
  message.set_shard_count(static_cast<std::uint32_t>(hello.shard_count));
  message.set_highest_incarnation(hello.highest_incarnation);
  message.set_shard_id(hello.shard_id);
  message.set_holds(hello.holds);
  message.set_owner_number(hello.owner_number);
  message.set_register_number(hello.register_number);
  message.set_site(hello.node.site);
  message.set_link_bytes_per_second(hello.node.link_bytes_per_second);
  return message;
}

Result<Hello> FromProto(const v1::Hello& message) {
  Hello hello;
  hello.protocol = message.protocol();
  v1::NodeInfo node;
  node.set_id(message.node());
  node.set_name(message.name());
  node.set_address(message.address());
  TRY_ASSIGN(hello.node, ReadNode(node, "hello"));
  if (message.cluster().size() > kMaxNameBytes) return Bad("cluster", "is too long");
  hello.cluster = message.cluster();
  if (message.shard_index() >= message.shard_count()) {
    return Bad("shard_index", "is not below shard_count");
  }
  hello.shard_index = message.shard_index();
  hello.shard_count = message.shard_count();
  if (message.highest_incarnation() >= kStampEnd) {
    return Bad("highest_incarnation", "is out of range");
  }
  hello.highest_incarnation = message.highest_incarnation();
  hello.shard_id = message.shard_id();
  hello.holds = message.holds();
  hello.owner_number = message.owner_number();
  hello.register_number = message.register_number();
  if (!message.site().empty()) {
    TRY_ASSIGN(hello.node.site, ReadName(message.site(), "site"));
  }
  hello.node.link_bytes_per_second = message.link_bytes_per_second();
  return hello;
}

v1::Welcome ToProto(const Welcome& welcome) {
  v1::Welcome message;
  message.set_incarnation(welcome.incarnation);
  message.set_heartbeat_us(Microseconds(welcome.heartbeat));
  message.set_lease_us(Microseconds(welcome.lease));
  message.set_tombstone_us(Microseconds(welcome.tombstone));
  message.set_orphan_grace_us(Microseconds(welcome.orphan_grace));
  message.set_remembered(welcome.remembered);
  message.set_shard_id(welcome.shard_id);
  message.set_inline_limit_bytes(welcome.inline_limit_bytes);
  return message;
}

Result<Welcome> FromProto(const v1::Welcome& message) {
  Welcome welcome;
  welcome.incarnation = message.incarnation();
  TRY_ASSIGN(welcome.heartbeat, ReadDuration(message.heartbeat_us(), "heartbeat_us"));
  if (welcome.heartbeat < std::chrono::milliseconds(1)) {
    return Bad("heartbeat_us", "is shorter than a millisecond");
  }
  TRY_ASSIGN(welcome.lease, ReadDuration(message.lease_us(), "lease_us"));
  TRY_ASSIGN(welcome.tombstone, ReadDuration(message.tombstone_us(), "tombstone_us"));
  TRY_ASSIGN(welcome.orphan_grace, ReadDuration(message.orphan_grace_us(), "orphan_grace_us"));
  welcome.remembered = message.remembered();
  welcome.shard_id = message.shard_id();
  if (message.has_inline_limit_bytes()) welcome.inline_limit_bytes = message.inline_limit_bytes();
  if (welcome.inline_limit_bytes > kMaxInlineBytes) {
    return Bad("inline_limit_bytes", "is above " + FormatSize(kMaxInlineBytes));
  }
  return welcome;
}

v1::Ended ToProto(const Ended& ended) {
  v1::Ended message;
  message.set_code(static_cast<std::uint32_t>(ended.error.code));
  message.set_message(ended.error.message);
  message.set_retry(ended.retry);
  return message;
}

Result<Ended> FromProto(const v1::Ended& message) {
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(message.code()));
  return Ended{.error = {code, message.message()}, .retry = message.retry()};
}

Result<NodeMessage> FromProto(v1::NodeMessage& message) {
  NodeMessage result;
  if (message.has_hello()) {
    TRY_ASSIGN(result.hello, FromProto(message.hello()));
  }
  result.events.reserve(static_cast<std::size_t>(message.events_size()));
  for (v1::NodeEvent& one : *message.mutable_events()) {
    TRY_ASSIGN(protocol::NodeEvent event, FromProto(one));
    result.events.push_back(std::move(event));
  }
  if (message.has_heartbeat()) result.heartbeat = message.heartbeat();
  if (message.has_number()) result.number = message.number();
  if (message.has_taken()) result.taken = message.taken();
  return result;
}

Result<ShardMessage> FromProto(v1::ShardMessage& message) {
  ShardMessage result;
  if (message.has_welcome()) {
    TRY_ASSIGN(result.welcome, FromProto(message.welcome()));
  }
  result.actions.reserve(static_cast<std::size_t>(message.actions_size()));
  for (v1::NodeAction& one : *message.mutable_actions()) {
    TRY_ASSIGN(protocol::NodeAction action, FromProto(one));
    result.actions.push_back(std::move(action));
  }
  if (message.has_heartbeat_ack()) result.heartbeat_ack = message.heartbeat_ack();
  if (message.has_ended()) {
    TRY_ASSIGN(result.ended, FromProto(message.ended()));
  }
  if (message.has_shard_id()) result.shard_id = message.shard_id();
  if (message.has_number()) result.number = message.number();
  if (message.has_taken()) result.taken = message.taken();
  return result;
}

v1::Failure ToProto(const NoAnswer& why) {
  v1::Failure message;
  message.set_code(static_cast<std::uint32_t>(why.error.code));
  message.set_message(why.error.message);
  return message;
}

Result<NoAnswer> FromProto(const v1::Failure& message) {
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(message.code()));
  return NoAnswer{.error = {code, message.message()}};
}

}  // namespace hoplite::wire
