// The session's own messages.
#include "wire/directory_messages.h"

#include <chrono>

#include "base/limits.h"
#include "wire/field_forms.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

namespace {

struct BelowEnd : ByType {
  static bool Read(const auto& from, std::uint64_t& incarnation) {
    return from.get() < kStampEnd ? ByType::Read(from, incarnation)
                                  : from.Refuse("is out of range");
  }
};

Result<void> IndexIsBelowCount(const Hello& hello) {
  if (hello.shard_index < hello.shard_count) return {};
  return Bad("shard_index", "is not below shard_count");
}

Result<void> CanBeObeyed(const Welcome& welcome) {
  if (welcome.heartbeat < std::chrono::milliseconds(1)) {
    return Bad("heartbeat_us", "is shorter than a millisecond");
  }
  if (welcome.inline_limit_bytes <= kMaxInlineBytes) return {};
  return Bad("inline_limit_bytes", BeyondLimit(welcome.inline_limit_bytes, kMaxInlineBytes));
}

// A node's own fields lie in its Hello.
struct NodeOfHello {
  static constexpr std::size_t kMembers = 1;
  static constexpr List kNode{FIELD_AS(id, node, Given), FIELD(name, NameText),
                              FIELD(address, Address), FIELD(site, NameOrEmpty),
                              FIELD(link_bytes_per_second)};

  static void Write(const Hello& hello, auto& message) { kNode.Write(hello.node, message); }
  static bool Read(auto& message, Hello& hello, std::string& wrong) {
    return kNode.Read(message, hello.node, wrong);
  }
};

}  // namespace

FIELDS(Hello, FIELD(protocol), NodeOfHello{}, FIELD(cluster, AtMost<kMaxNameBytes>),
       FIELD(shard_index), FIELD(shard_count), FIELD(highest_incarnation, BelowEnd),
       FIELD(shard_id), FIELD(holds), FIELD(owner_number), FIELD(register_number),
       Check<IndexIsBelowCount>());
FIELDS(Welcome, FIELD(incarnation), FIELD_AS(heartbeat, heartbeat_us), FIELD_AS(lease, lease_us),
       FIELD_AS(tombstone, tombstone_us), FIELD_AS(orphan_grace, orphan_grace_us),
       FIELD(remembered), FIELD(shard_id), FIELD(inline_limit_bytes, OrDefault),
       FIELD(members, OrNone), Check<CanBeObeyed>());
template <>
inline constexpr auto kFields<Error> = List{FIELD(code), FIELD(message)};
FIELDS(Ended, FLAT(error), FIELD(retry), FIELD(members, OrNone));
FIELDS(NoAnswer, FLAT(error), FIELD(members, OrNone));

// directory_events.cpp and directory_actions.cpp have their lists.
struct FormOfWord {
  template <typename Words>
  static void Write(const Words& words, const auto& to) {
    to.edit() = ToProto(words);
  }
  template <typename Words>
  static bool Read(const auto& from, Words& words) {
    Result<Words> read = FromProto(from.part());
    if (!read) {
      from.wrong = read.error().message;
      return false;
    }
    words = *std::move(read);
    return true;
  }
};
template <>
struct Form<protocol::NodeEvent> : FormOfWord {};
template <>
struct Form<protocol::NodeAction> : FormOfWord {};

FIELDS(NodeMessage, FIELD(hello), FIELD(events), FIELD(heartbeat), FIELD(number), FIELD(taken));
FIELDS(ShardMessage, FIELD(welcome), FIELD(actions), FIELD(heartbeat_ack), FIELD(ended),
       FIELD(shard_id), FIELD(number), FIELD(taken));

v1::Hello ToProto(const Hello& hello) { return Written<v1::Hello>(hello); }
v1::Welcome ToProto(const Welcome& welcome) { return Written<v1::Welcome>(welcome); }
v1::Ended ToProto(const Ended& ended) { return Written<v1::Ended>(ended); }
v1::Failure ToProto(const NoAnswer& why) { return Written<v1::Failure>(why); }
v1::NodeMessage ToProto(const NodeMessage& message) { return Written<v1::NodeMessage>(message); }
v1::ShardMessage ToProto(const ShardMessage& message) { return Written<v1::ShardMessage>(message); }

Result<Hello> FromProto(const v1::Hello& message) { return ReadAs<Hello>(message); }
Result<Welcome> FromProto(const v1::Welcome& message) { return ReadAs<Welcome>(message); }
Result<Ended> FromProto(const v1::Ended& message) { return ReadAs<Ended>(message); }
Result<NoAnswer> FromProto(const v1::Failure& message) { return ReadAs<NoAnswer>(message); }
Result<NodeMessage> FromProto(v1::NodeMessage& message) { return ReadAs<NodeMessage>(message); }
Result<ShardMessage> FromProto(v1::ShardMessage& message) { return ReadAs<ShardMessage>(message); }

}  // namespace hoplite::wire
