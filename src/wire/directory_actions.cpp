// Shard to node: the actions.
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "base/try.h"
#include "wire/checked_fields.h"
#include "wire/directory_messages.h"
#include "wire/reduce_messages.h"
#include "wire/register_fields.h"

namespace hoplite::wire {

namespace {

using protocol::NodeAction;

// --- own types to protobuf

void Write(const protocol::CreateAccepted& action, v1::NodeAction& to) {
  to.mutable_create_accepted()->set_ever_owned(action.ever_owned);
}
void Write(const protocol::CreateRefused& action, v1::NodeAction& to) {
  v1::CreateRefused& body = *to.mutable_create_refused();
  body.set_code(static_cast<std::uint32_t>(action.code));
  body.set_message(action.message);
}
void Write(const protocol::Located& action, v1::NodeAction& to) {
  v1::Located& body = *to.mutable_located();
  WriteLayout(action.layout, *body.mutable_layout());
  body.set_metadata(action.metadata);
  body.set_ever_owned(action.ever_owned);
  body.set_wanted(action.wanted);
}
void Write(const protocol::OwnerAnswer& action, v1::NodeAction& to) {
  to.mutable_owner_answer()->set_number(action.number);
  to.mutable_owner_answer()->set_result(static_cast<std::uint32_t>(action.result));
}
void Write(const protocol::EverOwned&, v1::NodeAction& to) { to.mutable_ever_owned(); }
void Write(const protocol::Unowned& action, v1::NodeAction& to) {
  to.mutable_unowned()->set_number(action.number);
}
void Write(const std::vector<protocol::Onward>& onward,
           google::protobuf::RepeatedPtrField<v1::Onward>& to) {
  for (const protocol::Onward& one : onward) {
    v1::Onward& message = *to.Add();
    WriteNode(one.node, *message.mutable_node());
    message.set_number(one.number);
  }
}
void Write(const protocol::InlineObject& action, v1::NodeAction& to) {
  v1::InlineObject& body = *to.mutable_inline_object();
  body.set_metadata(action.metadata);
  if (action.bytes) body.set_data(*action.bytes);
  body.set_number(action.number);
  Write(action.onward, *body.mutable_onward());
}
void Write(const protocol::GiveCopy& action, v1::NodeAction& to) {
  Write(action.onward, *to.mutable_give_copy()->mutable_onward());
}
void Write(const protocol::Grant& action, v1::NodeAction& to) {
  v1::Grant& body = *to.mutable_grant();
  WriteStamp(action.grant, *body.mutable_grant());
  WriteNode(action.source, *body.mutable_source());
  body.set_stripes(action.stripes);
  body.set_equality_ok(action.equality_ok);
  if (action.replaces) WriteStamp(action.replaces, *body.mutable_replaces());
}
void Write(const protocol::Recall&, v1::NodeAction& to) { to.mutable_recall(); }
void Write(const protocol::Deleted& action, v1::NodeAction& to) {
  to.mutable_deleted()->set_remaining_us(Microseconds(action.remaining));
}
void Write(const protocol::EvictAnswer& action, v1::NodeAction& to) {
  to.mutable_evict_answer()->set_drop(action.drop);
}
void Write(const protocol::Location& action, v1::NodeAction& to) {
  v1::Location& body = *to.mutable_location();
  body.set_node(Raw(action.node));
  body.set_node_name(action.node_name);
  body.set_kind(static_cast<std::uint32_t>(action.kind));
  body.set_producing(action.producing);
  if (action.layout.block_bytes != 0) WriteLayout(action.layout, *body.mutable_layout());
  body.set_metadata(action.metadata);
  body.set_site(action.site);
}
void Write(const protocol::TakeCopy&, v1::NodeAction& to) { to.mutable_take_copy(); }
void Write(const protocol::InlineFull&, v1::NodeAction& to) { to.mutable_inline_full(); }
void Write(const protocol::HolderLost& action, v1::NodeAction& to) {
  v1::HolderLost& message = *to.mutable_holder_lost();
  message.set_node_name(action.loss.node_name);
  message.set_unfinished(action.loss.unfinished);
}

void Write(const protocol::RegisterNews& action, v1::NodeAction& to) {
  WriteRegisterNews(action, *to.mutable_register_news());
}

// --- protobuf to own types, with checks

struct ActionSubject {
  ObjectId object;
  Version version;  // none, unless the action needs one
};

Result<NodeAction> Read(const ActionSubject& of, const v1::CreateRefused& body) {
  TRY_ASSIGN(const ErrorCode code, ReadErrorCode(body.code()));
  return protocol::CreateRefused{of.object, code, body.message()};
}

Result<NodeAction> Read(const ActionSubject& of, v1::Located& body) {
  protocol::Located action{.object = of.object, .version = of.version};
  TRY_ASSIGN(action.layout, ReadLayout(body.layout()));
  TRY_ASSIGN(action.metadata, ReadMetadata(*body.mutable_metadata()));
  action.ever_owned = body.ever_owned();
  action.wanted = body.wanted();
  return action;
}

Result<NodeAction> Read(const ActionSubject& of, const v1::OwnerAnswer& body) {
  protocol::OwnerAnswer action{.object = of.object, .number = body.number()};
  TRY_ASSIGN(action.result, ReadEnum(body.result(), protocol::OwnerResult::kOk,
                                     protocol::OwnerResult::kLimit, "result"));
  return action;
}

Result<std::vector<protocol::Onward>> ReadOnward(
    const google::protobuf::RepeatedPtrField<v1::Onward>& messages) {
  std::vector<protocol::Onward> onward;
  if (std::cmp_greater(messages.size(), protocol::InlineObject::kMostOnward)) {
    return Bad("onward", "names " + std::to_string(messages.size()) + " nodes");
  }
  for (const v1::Onward& one : messages) {
    TRY_ASSIGN(protocol::NodeInfo node, ReadNode(one.node(), "onward"));
    onward.push_back({std::move(node), one.number()});
  }
  return onward;
}

Result<NodeAction> Read(const ActionSubject& of, v1::InlineObject& body) {
  protocol::InlineObject action{.object = of.object, .version = of.version};
  TRY_ASSIGN(action.metadata, ReadMetadata(*body.mutable_metadata()));
  TRY_ASSIGN(action.bytes, ReadInlineBytes(*body.mutable_data(), "data"));
  TRY_ASSIGN(action.onward, ReadOnward(body.onward()));
  action.number = body.number();
  return action;
}

Result<NodeAction> Read(const ActionSubject& of, const v1::GiveCopy& body) {
  protocol::GiveCopy action{.object = of.object, .version = of.version};
  TRY_ASSIGN(action.onward, ReadOnward(body.onward()));
  return action;
}

Result<NodeAction> Read(const ActionSubject& of, const v1::Grant& body) {
  protocol::Grant action{.object = of.object, .version = of.version};
  TRY_ASSIGN(action.grant, ReadStamp<GrantId>(body.grant(), "grant"));
  TRY_ASSIGN(action.source, ReadNode(body.source(), "source"));
  action.stripes = body.stripes();
  action.equality_ok = body.equality_ok();
  if (body.has_replaces()) {
    TRY_ASSIGN(action.replaces, ReadStamp<GrantId>(body.replaces(), "replaces"));
  }
  return action;
}

Result<NodeAction> Read(const ActionSubject& of, const v1::Tombstone& body) {
  TRY_ASSIGN(const Duration remaining, ReadDuration(body.remaining_us(), "remaining_us"));
  return protocol::Deleted{of.object, remaining, of.version};
}

Result<NodeAction> Read(const ActionSubject& of, v1::Location& body) {
  protocol::Location action{.object = of.object, .version = of.version};
  action.node = NodeId{body.node()};
  action.node_name = body.node_name();
  TRY_ASSIGN(action.kind, ReadEnum(body.kind(), protocol::LocationKind::kPartial,
                                   protocol::LocationKind::kInline, "kind"));
  action.producing = body.producing();
  if (body.has_layout()) {
    TRY_ASSIGN(action.layout, ReadLayout(body.layout()));
  }
  TRY_ASSIGN(action.metadata, ReadMetadata(*body.mutable_metadata()));
  action.site = std::move(*body.mutable_site());
  return action;
}

bool NeedsVersion(v1::NodeAction::BodyCase body) {
  switch (body) {
    case v1::NodeAction::kCreateRefused:
    case v1::NodeAction::kHolderLost:
    case v1::NodeAction::kInlineFull:
    case v1::NodeAction::kOwnerAnswer:
    case v1::NodeAction::kEverOwned:
    case v1::NodeAction::kUnowned:
    case v1::NodeAction::kRegisterNews:
      return false;
    default:
      return !IsReduction(body) || ReductionNeedsVersion(body);
  }
}

Result<NodeAction> ReadBody(const ActionSubject& of, v1::NodeAction& message) {
  if (IsReduction(message.body_case())) return ReadReduction(of.object, of.version, message);
  switch (message.body_case()) {
    case v1::NodeAction::kCreateAccepted:
      return protocol::CreateAccepted{of.object, of.version,
                                      message.create_accepted().ever_owned()};
    case v1::NodeAction::kCreateRefused:
      return Read(of, message.create_refused());
    case v1::NodeAction::kLocated:
      return Read(of, *message.mutable_located());
    case v1::NodeAction::kInlineObject:
      return Read(of, *message.mutable_inline_object());
    case v1::NodeAction::kGrant:
      return Read(of, message.grant());
    case v1::NodeAction::kRecall:
      return protocol::Recall{of.object, of.version};
    case v1::NodeAction::kDeleted:
      return Read(of, message.deleted());
    case v1::NodeAction::kEvictAnswer:
      return protocol::EvictAnswer{of.object, of.version, message.evict_answer().drop()};
    case v1::NodeAction::kLocation:
      return Read(of, *message.mutable_location());
    case v1::NodeAction::kInlineFull:
      return protocol::InlineFull{of.object};
    case v1::NodeAction::kOwnerAnswer:
      return Read(of, message.owner_answer());
    case v1::NodeAction::kEverOwned:
      return protocol::EverOwned{of.object};
    case v1::NodeAction::kUnowned:
      return protocol::Unowned{of.object, message.unowned().number()};
    case v1::NodeAction::kTakeCopy:
      return protocol::TakeCopy{of.object, of.version};
    case v1::NodeAction::kRegisterNews:
      return ReadRegisterNews(of.object, *message.mutable_register_news());
    case v1::NodeAction::kGiveCopy:
      return Read(of, message.give_copy());
    case v1::NodeAction::kHolderLost:
      return protocol::HolderLost{
          of.object, {message.holder_lost().node_name(), message.holder_lost().unfinished()}};
    default:
      break;
  }
  return Bad("body", "of an action is missing or unknown");
}

}  // namespace

v1::NodeAction ToProto(const NodeAction& action) {
  v1::NodeAction message;
  std::visit(
      [&message](const auto& body) {
        message.set_object(std::string(body.object.view()));
        if constexpr (requires { body.version; }) {
          WriteStamp(body.version, *message.mutable_version());
        }
        Write(body, message);
      },
      action);
  return message;
}

Result<NodeAction> FromProto(v1::NodeAction& message) {
  ActionSubject of;
  TRY_ASSIGN(of.object, ReadObject(message.object()));
  if (message.body_case() != v1::NodeAction::BODY_NOT_SET && NeedsVersion(message.body_case())) {
    TRY_ASSIGN(of.version, ReadStamp<Version>(message.version(), "version"));
  }
  return ReadBody(of, message);
}

}  // namespace hoplite::wire
