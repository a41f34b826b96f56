// Node to shard: the events.
#include <memory>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/try.h"
#include "wire/checked_fields.h"
#include "wire/directory_messages.h"
#include "wire/reduce_messages.h"
#include "wire/register_fields.h"

namespace hoplite::wire {

namespace {

using protocol::InlineBytes;
using protocol::NodeEvent;

// --- own types to protobuf

template <typename Marks>
void WriteMarks(const StripeMarks& marks, Marks& to) {
  to.Assign(marks.begin(), marks.end());
}

// Of an Owner or an Owned.
void WriteOwner(const auto& event, v1::Owner& to) {
  to.set_number(event.number);
  to.set_own(event.own);
  if (event.grace) to.set_grace_us(Microseconds(*event.grace));
}

void Write(const protocol::Create& event, v1::NodeEvent& to) {
  v1::Create& body = *to.mutable_create();
  WriteLayout(event.layout, *body.mutable_layout());
  body.set_metadata(event.metadata);
  if (event.inline_bytes) body.set_inline_bytes(*event.inline_bytes);
  body.set_attempt(event.attempt);
  body.set_owned(event.owned);
  body.set_only_if_owned(event.only_if_owned);
  body.set_number(event.number);
  if (event.grace) body.set_grace_us(Microseconds(*event.grace));
}
void Write(const protocol::Owner& event, v1::NodeEvent& to) {
  WriteOwner(event, *to.mutable_owner());
}
void Write(const protocol::Owned& event, v1::NodeEvent& to) {
  WriteOwner(event, *to.mutable_owned());
}
void Write(const protocol::CopyComplete&, v1::NodeEvent& to) { to.mutable_copy_complete(); }
void Write(const protocol::Withdraw& event, v1::NodeEvent& to) {
  to.mutable_withdraw()->set_attempt(event.attempt);
}
void Write(const protocol::CopyGone& event, v1::NodeEvent& to) {
  to.mutable_copy_gone()->set_reason(static_cast<std::uint32_t>(event.reason));
}
void Write(const protocol::Locate& event, v1::NodeEvent& to) {
  v1::Expectation& body = *to.mutable_locate();
  body.set_number(event.expects);
  body.set_room(event.room);
  body.set_question(event.number);
  body.set_joint(event.joint);
}
void Write(const protocol::CancelLocate&, v1::NodeEvent& to) { to.mutable_cancel_locate(); }
void Write(const protocol::Want& event, v1::NodeEvent& to) {
  WriteMarks(event.marks, *to.mutable_want()->mutable_marks());
  to.mutable_want()->set_leaf(event.leaf);
  to.mutable_want()->set_joint(event.joint);
}
void Write(const protocol::CancelWant&, v1::NodeEvent& to) { to.mutable_cancel_want(); }
void Write(const protocol::GrantClosed& event, v1::NodeEvent& to) {
  v1::GrantClosed& body = *to.mutable_grant_closed();
  WriteStamp(event.grant, *body.mutable_grant());
  body.set_outcome(static_cast<std::uint32_t>(event.outcome));
  body.set_failure(static_cast<std::uint32_t>(event.failure));
  WriteMarks(event.marks, *body.mutable_marks());
  body.set_source(Raw(event.source));
}
void Write(const protocol::Progress& event, v1::NodeEvent& to) {
  v1::Progress& body = *to.mutable_progress();
  WriteMarks(event.marks, *body.mutable_marks());
  body.set_bytes_per_second(event.bytes_per_second);
  body.set_starved_us(Microseconds(event.starved_for));
  body.set_round_trip_us(Microseconds(event.round_trip));
  body.set_at_us(Microseconds(event.at.time_since_epoch()));
}
void Write(const protocol::Delete&, v1::NodeEvent& to) { to.mutable_delete_(); }
void Write(const protocol::EvictAsk& event, v1::NodeEvent& to) {
  to.mutable_evict_ask()->set_taker(Raw(event.taker));
}
void Write(const protocol::Subscribe& event, v1::NodeEvent& to) {
  to.mutable_subscribe()->set_number(event.expects);
}
void Write(const protocol::Unsubscribe&, v1::NodeEvent& to) { to.mutable_unsubscribe(); }
void Write(const protocol::Held& event, v1::NodeEvent& to) {
  v1::Held& body = *to.mutable_held();
  WriteLayout(event.layout, *body.mutable_layout());
  body.set_metadata(event.metadata);
  WriteMarks(event.marks, *body.mutable_marks());
  body.set_complete(event.complete);
  body.set_produces(event.produces);
  body.set_primary(event.primary);
  for (const protocol::Upstream& from : event.upstreams) {
    v1::Upstream& to_body = *body.add_upstreams();
    to_body.set_node(Raw(from.node));
    WriteStamp(from.grant, *to_body.mutable_grant());
    to_body.set_stripes(from.stripes);
  }
  body.set_ever_owned(event.ever_owned);
}
void Write(const protocol::HeldBytes& event, v1::NodeEvent& to) {
  to.mutable_held_bytes()->set_data(*event.bytes);
}
void Write(const protocol::Tombstone& event, v1::NodeEvent& to) {
  to.mutable_tombstone()->set_remaining_us(Microseconds(event.remaining));
}
void Write(const protocol::InventoryEnd&, v1::NodeEvent& to) { to.mutable_inventory_end(); }
void Write(const protocol::StoreUsage& event, v1::NodeEvent& to) {
  WriteUsage(event, *to.mutable_store_usage());
}
void Write(const protocol::ToldWaits& event, v1::NodeEvent& to) {
  v1::ToldWaits& body = *to.mutable_told_waits();
  for (const protocol::Wait& wait : event.waits) {
    v1::ToldWaits::Wait& added = *body.add_waits();
    added.set_object(std::string(wait.object.view()));
    added.set_why(wait.why);
  }
}

void Write(const protocol::RegisterUse& event, v1::NodeEvent& to) {
  WriteRegisterUse(event, *to.mutable_register_use());
}

// --- protobuf to own types, with checks

// Null where the message has none.
Result<InlineBytes> ReadInline(v1::Create& body, const Layout& layout) {
  if (!body.has_inline_bytes()) return nullptr;
  std::string& bytes = *body.mutable_inline_bytes();
  if (bytes.size() != layout.size_bytes) {
    return Bad("inline_bytes",
               fmt::format("has {} bytes, the layout says {}", bytes.size(), layout.size_bytes));
  }
  return ReadInlineBytes(bytes, "inline_bytes");
}

// What most events speak of.
struct EventSubject {
  ObjectId object;
  Version version;  // none, unless the event needs one
};

Result<NodeEvent> Read(const EventSubject& of, v1::Create& body) {
  protocol::Create event{.object = of.object};
  TRY_ASSIGN(event.layout, ReadLayout(body.layout()));
  TRY_ASSIGN(event.metadata, ReadMetadata(*body.mutable_metadata()));
  TRY_ASSIGN(event.inline_bytes, ReadInline(body, event.layout));
  event.attempt = body.attempt();
  event.owned = body.owned();
  event.only_if_owned = body.only_if_owned();
  event.number = body.number();
  if (body.has_grace_us()) {
    TRY_ASSIGN(event.grace, ReadDuration(body.grace_us(), "grace_us"));
  }
  return event;
}

Result<NodeEvent> Read(const EventSubject& of, const v1::CopyGone& body) {
  protocol::CopyGone event{of.object, of.version};
  TRY_ASSIGN(event.reason, ReadEnum(body.reason(), protocol::GoneReason::kAborted,
                                    protocol::GoneReason::kRecalled, "reason"));
  return event;
}

Result<NodeEvent> Read(const EventSubject& of, const v1::Want& body) {
  TRY_ASSIGN(StripeMarks marks, ReadMarks(body.marks()));
  return protocol::Want{of.object, of.version, std::move(marks), body.leaf(), body.joint()};
}

Result<NodeEvent> Read(const EventSubject& of, const v1::GrantClosed& body) {
  protocol::GrantClosed event{.object = of.object, .version = of.version};
  TRY_ASSIGN(event.grant, ReadStamp<GrantId>(body.grant(), "grant"));
  TRY_ASSIGN(event.outcome, ReadEnum(body.outcome(), protocol::Outcome::kDone,
                                     protocol::Outcome::kAbandoned, "outcome"));
  TRY_ASSIGN(event.failure, ReadEnum(body.failure(), protocol::Failure::kNone,
                                     protocol::Failure::kUnknown, "failure"));
  TRY_ASSIGN(event.marks, ReadMarks(body.marks()));
  event.source = NodeId(body.source());
  return event;
}

Result<NodeEvent> Read(const EventSubject& of, const v1::Progress& body) {
  protocol::Progress event{.object = of.object, .version = of.version};
  TRY_ASSIGN(event.marks, ReadMarks(body.marks()));
  event.bytes_per_second = body.bytes_per_second();
  TRY_ASSIGN(event.starved_for, ReadDuration(body.starved_us(), "starved_us"));
  TRY_ASSIGN(event.round_trip, ReadDuration(body.round_trip_us(), "round_trip_us"));
  TRY_ASSIGN(event.at, ReadTime(body.at_us(), "at_us"));
  return event;
}

// Who is pulled from, stripe by stripe: each at most once.
Result<std::vector<protocol::Upstream>> ReadUpstreams(const v1::Held& body, StripeMask all) {
  std::vector<protocol::Upstream> upstreams;
  StripeMask named = 0;
  for (const v1::Upstream& from : body.upstreams()) {
    protocol::Upstream& upstream = upstreams.emplace_back();
    upstream.node = NodeId{from.node()};
    if (upstream.node == kNoNode) return Bad("upstreams", "has one without a node");
    TRY_ASSIGN(upstream.grant, ReadStamp<GrantId>(from.grant(), "upstreams"));
    upstream.stripes = from.stripes();
    if (upstream.stripes == 0 || (upstream.stripes & ~all) != 0) {
      return Bad("upstreams", "has one without stripes, or with stripes beyond the layout's");
    }
    if ((upstream.stripes & named) != 0) return Bad("upstreams", "names a stripe twice");
    named |= upstream.stripes;
  }
  return upstreams;
}

Result<NodeEvent> Read(const EventSubject& of, v1::Held& body) {
  protocol::Held event{.object = of.object, .version = of.version};
  TRY_ASSIGN(event.layout, ReadLayout(body.layout()));
  TRY_ASSIGN(event.metadata, ReadMetadata(*body.mutable_metadata()));
  TRY_ASSIGN(event.marks, ReadMarks(body.marks()));
  if (!event.layout.valid(event.marks)) return Bad("marks", "do not fit the layout");
  event.complete = body.complete();
  if (event.complete && !event.layout.complete(event.marks)) {
    return Bad("complete", "is set on a copy whose marks are not full");
  }
  event.produces = body.produces();
  const StripeMask all = event.layout.all_stripes();
  if ((event.produces & ~all) != 0) return Bad("produces", "has stripes beyond the layout's");
  event.primary = body.primary();
  TRY_ASSIGN(event.upstreams, ReadUpstreams(body, all));
  event.ever_owned = body.ever_owned();
  return event;
}

Result<NodeEvent> Read(const EventSubject& of, v1::HeldBytes& body) {
  TRY_ASSIGN(InlineBytes bytes, ReadInlineBytes(*body.mutable_data(), "data"));
  return protocol::HeldBytes{of.object, of.version, std::move(bytes)};
}

Result<NodeEvent> Read(const EventSubject& of, const v1::Tombstone& body) {
  TRY_ASSIGN(const Duration remaining, ReadDuration(body.remaining_us(), "remaining_us"));
  return protocol::Tombstone{of.object, remaining, of.version};
}

bool NeedsVersion(v1::NodeEvent::BodyCase body) {
  switch (body) {
    case v1::NodeEvent::kCopyComplete:
    case v1::NodeEvent::kCopyGone:
    case v1::NodeEvent::kWant:
    case v1::NodeEvent::kCancelWant:
    case v1::NodeEvent::kGrantClosed:
    case v1::NodeEvent::kProgress:
    case v1::NodeEvent::kEvictAsk:
    case v1::NodeEvent::kHeld:
    case v1::NodeEvent::kHeldBytes:
    case v1::NodeEvent::kTombstone:
      return true;
    default:
      return ReductionNeedsVersion(body);
  }
}

// An Owner or an Owned.
template <typename Event>
Result<NodeEvent> ReadOwner(const EventSubject& of, const v1::Owner& body) {
  Event event{of.object, body.number(), body.own()};
  if (body.has_grace_us()) {
    TRY_ASSIGN(event.grace, ReadDuration(body.grace_us(), "grace_us"));
  }
  return event;
}

Result<NodeEvent> ReadBody(const EventSubject& of, v1::NodeEvent& message) {
  if (IsReduction(message.body_case())) return ReadReduction(of.object, of.version, message);
  switch (message.body_case()) {
    case v1::NodeEvent::kCreate:
      return Read(of, *message.mutable_create());
    case v1::NodeEvent::kWithdraw:
      return protocol::Withdraw{of.object, message.withdraw().attempt()};
    case v1::NodeEvent::kCopyComplete:
      return protocol::CopyComplete{of.object, of.version};
    case v1::NodeEvent::kCopyGone:
      return Read(of, message.copy_gone());
    case v1::NodeEvent::kLocate:
      return protocol::Locate{of.object, message.locate().number(), message.locate().room(),
                              message.locate().question(), message.locate().joint()};
    case v1::NodeEvent::kCancelLocate:
      return protocol::CancelLocate{of.object};
    case v1::NodeEvent::kWant:
      return Read(of, message.want());
    case v1::NodeEvent::kCancelWant:
      return protocol::CancelWant{of.object, of.version};
    case v1::NodeEvent::kGrantClosed:
      return Read(of, message.grant_closed());
    case v1::NodeEvent::kProgress:
      return Read(of, message.progress());
    case v1::NodeEvent::kDelete:
      return protocol::Delete{of.object};
    case v1::NodeEvent::kEvictAsk:
      return protocol::EvictAsk{of.object, of.version, NodeId(message.evict_ask().taker())};
    case v1::NodeEvent::kSubscribe:
      return protocol::Subscribe{of.object, message.subscribe().number()};
    case v1::NodeEvent::kUnsubscribe:
      return protocol::Unsubscribe{of.object};
    case v1::NodeEvent::kHeld:
      return Read(of, *message.mutable_held());
    case v1::NodeEvent::kHeldBytes:
      return Read(of, *message.mutable_held_bytes());
    case v1::NodeEvent::kTombstone:
      return Read(of, message.tombstone());
    case v1::NodeEvent::kOwner:
      return ReadOwner<protocol::Owner>(of, message.owner());
    case v1::NodeEvent::kOwned:
      return ReadOwner<protocol::Owned>(of, message.owned());
    case v1::NodeEvent::kRegisterUse:
      return ReadRegisterUse(of.object, *message.mutable_register_use());
    default:
      break;
  }
  return Bad("body", "of an event is missing or unknown");
}

Result<NodeEvent> ReadWaits(v1::ToldWaits& body) {
  protocol::ToldWaits event;
  if (static_cast<std::size_t>(body.waits_size()) > protocol::kMostWaits) {
    return Bad("waits", fmt::format("has {}, a node tells at most {}", body.waits_size(),
                                    protocol::kMostWaits));
  }
  for (v1::ToldWaits::Wait& wait : *body.mutable_waits()) {
    TRY_ASSIGN(const ObjectId object, ReadObject(wait.object()));
    if (wait.why().size() > protocol::kMostWaitBytes) {
      return Bad("why", fmt::format("has {} bytes, a reason has at most {}", wait.why().size(),
                                    protocol::kMostWaitBytes));
    }
    event.waits.push_back({object, std::move(*wait.mutable_why())});
  }
  return event;
}

}  // namespace

v1::NodeEvent ToProto(const NodeEvent& event) {
  v1::NodeEvent message;
  std::visit(
      [&message](const auto& body) {
        if constexpr (requires { body.object; })
          message.set_object(std::string(body.object.view()));
        if constexpr (requires { body.version; }) {
          WriteStamp(body.version, *message.mutable_version());
        }
        Write(body, message);
      },
      event);
  return message;
}

Result<NodeEvent> FromProto(v1::NodeEvent& message) {
  if (message.body_case() == v1::NodeEvent::kInventoryEnd) return protocol::InventoryEnd{};
  if (message.body_case() == v1::NodeEvent::kStoreUsage) {
    return ReadUsage(message.store_usage());
  }
  if (message.body_case() == v1::NodeEvent::kToldWaits)
    return ReadWaits(*message.mutable_told_waits());
  EventSubject of;
  TRY_ASSIGN(of.object, ReadObject(message.object()));
  if (NeedsVersion(message.body_case())) {
    TRY_ASSIGN(of.version, ReadStamp<Version>(message.version(), "version"));
  }
  return ReadBody(of, message);
}

}  // namespace hoplite::wire
