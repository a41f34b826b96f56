#include "planner/shard/creation.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "protocol/elements.h"
#include "protocol/failure.h"

namespace hoplite::planner {
namespace {

std::string WhatExists(const ObjectId& id, const ObjectRecord& record) {
  if (const auto failure = protocol::FailureIn(record.metadata.OrEmpty())) {
    return fmt::format("object {} has failed already: {}", id.ToHex(), failure->message);
  }
  return fmt::format("object {} already exists with {}", id.ToHex(),
                     FormatSize(record.table.layout().size_bytes));
}

// Empty, or what is wrong with a request, in words.
std::string WrongWith(const Create& create, std::uint64_t metadata_limit) {
  if (auto valid = create.layout.Validate(); !valid) return valid.error().message;
  const std::size_t metadata = protocol::UsersPart(create.metadata).size();
  if (metadata > metadata_limit) {
    return fmt::format("metadata has {} bytes, {} is the limit", metadata, metadata_limit);
  }
  if (create.inline_bytes != nullptr && create.inline_bytes->size() != create.layout.size_bytes) {
    return fmt::format("{} bytes came with an object of {}", create.inline_bytes->size(),
                       create.layout.size_bytes);
  }
  return {};
}

}  // namespace

void Creation::On(NodeId node, const Create& event) {
  if (std::string wrong = WrongWith(event, options_.metadata_limit_bytes); !wrong.empty()) {
    return Refuse(event.object, node, ErrorCode::kInvalidArgument,
                  fmt::format("object {}: {}", event.object.ToHex(), wrong));
  }
  if (window_.collecting()) return window_.Defer(node, event);
  ObjectRecord& record = objects_.Touch(event.object, node);
  // In an inventory copies come before requests: one that was not repeated by now is gone (R15).
  const Copy* own = record.table.Find(node);
  if (own != nullptr && !own->live) versions_.DropCopy(event.object, record, node);
  std::vector<PendingCreate>& creates = record.waits.Make().creates;
  std::erase_if(creates, [&](const PendingCreate& c) { return c.node == node; });
  creates.push_back({node, event});
}

void Creation::On(NodeId node, const Withdraw& event) {
  if (window_.collecting()) return window_.Defer(node, event);
  if (ObjectRecord* record = objects_.Find(event.object)) {
    std::erase_if(record->waits.Make().creates, [&](const PendingCreate& c) {
      return c.node == node && c.request.attempt == event.attempt;
    });
    if (record->putter == Putter{node, event.attempt}) TakeBack(event.object, *record);
    ownership_.Withdrawn(node, event.object, event.attempt);
  }
  Refuse(event.object, node, ErrorCode::kCancelled,
         fmt::format("the put of object {} was taken back", event.object.ToHex()));
}

// What others have of that version is void, too: an empty one takes its place.
void Creation::TakeBack(const ObjectId& id, ObjectRecord& record) {
  versions_.DropCopy(id, record, record.putter.node);
  if (record.inline_bytes != nullptr) post_.Notify(id, record, kNoNode, LocationKind::kGone);
  const Layout layout = record.table.layout();
  versions_.Start(id, record, stamps_.NextVersion(), layout, "", kNoNode);
}

void Creation::ResolveCreates(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits) return;
  std::vector<PendingCreate>& creates = record.waits->creates;
  while (!creates.empty()) {
    const NodeId node = creates.front().node;
    const bool there = record.inline_bytes != nullptr || record.table.live_whole();
    if (std::string blocked = tombstones_.WhyBlocked(id, clock_.now()); !blocked.empty()) {
      Refuse(id, node, ErrorCode::kDeleted, std::move(blocked));
    } else if (record.open_reduction() && record.reduction->coordinator != node) {
      Refuse(id, node, ErrorCode::kAlreadyExists,
             fmt::format("object {} is the target of a reduction", id.ToHex()));
    } else if (there && record.putter == Putter{node, creates.front().request.attempt}) {
      // Repeated, since its answer was lost: refused, it would fail because of its own bytes (R47).
      Confirm(id, record, creates.front());
    } else if (there) {
      Refuse(id, node, ErrorCode::kAlreadyExists, WhatExists(id, record));
    } else if (record.table.whole()) {
      return;  // a suspended node may come back with it: wait for the end of its grace
    } else if (const auto no = ownership_.WhyNot(node, id, creates.front().request.owned,
                                                 creates.front().request.only_if_owned);
               !no.message.empty()) {
      Refuse(id, node, no.code, no.message);
    } else if (std::string full = versions_.WhyNoRoom(id, record, creates.front().request.metadata);
               !full.empty()) {
      Refuse(id, node, ErrorCode::kResourceExhausted, std::move(full));
    } else {
      const PendingCreate create = creates.front();
      Accept(id, record, create);
    }
    creates.erase(creates.begin());
  }
}

void Creation::Accept(const ObjectId& id, ObjectRecord& record, const PendingCreate& create) {
  const Create& request = create.request;
  // The coordinator's own Create is the result: it folded small sources by itself.
  if (record.reduction) orders_.Drop(id, *std::exchange(record.reduction, std::nullopt));
  versions_.Start(id, record, stamps_.NextVersion(), request.layout, request.metadata, create.node);
  record.putter = {create.node, request.attempt};
  if (request.only_if_owned) ownership_.AcceptedForOwners(id);
  versions_.KeepBytes(record, request.inline_bytes);
  if (record.inline_bytes != nullptr) post_.Notify(id, record, kNoNode, LocationKind::kInline);
  Confirm(id, record, create);
}

// That it is the version that counts, also to a node that was told so before and did not hear it.
void Creation::Confirm(const ObjectId& id, ObjectRecord& record, const PendingCreate& create) {
  const Create& request = create.request;
  if (request.owned) {
    const OwnerClaim claim{request.owned, request.number, request.grace};
    ownership_.Accepted(create.node, id, claim, request.attempt, true);
  }
  const bool complete = request.inline_bytes != nullptr;
  Versions::AddMaker(record, create.node, complete, stamps_.NextRequest());
  post_.Send(create.node, CreateAccepted{id, record.version, ownership_.WasOwned(id)});
  post_.Notify(id, record, create.node,
               complete ? LocationKind::kComplete : LocationKind::kPartial);
}

void Creation::Refuse(const ObjectId& id, NodeId node, ErrorCode code, std::string message) {
  post_.Send(node, CreateRefused{id, code, std::move(message)});
}

}  // namespace hoplite::planner
