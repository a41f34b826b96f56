// Versions: which Put counts, who hears of the object, and what travels inside the directory.
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "planner/directory_internal.h"

namespace hoplite::planner {
namespace {

// Empty, or what is wrong with a request, in words.
std::string WrongWith(const Create& create, std::uint64_t metadata_limit) {
  if (auto valid = create.layout.Validate(); !valid) return valid.error().message;
  if (create.metadata.size() > metadata_limit) {
    return fmt::format("metadata has {} bytes, {} is the limit", create.metadata.size(),
                       metadata_limit);
  }
  if (create.inline_bytes != nullptr && create.inline_bytes->size() != create.layout.size_bytes) {
    return fmt::format("{} bytes came with an object of {}", create.inline_bytes->size(),
                       create.layout.size_bytes);
  }
  return {};
}

}  // namespace

void DirectoryState::State::On(NodeId node, const Create& event) {
  if (std::string wrong = WrongWith(event, options.metadata_limit_bytes); !wrong.empty()) {
    return Refuse(event.object, node, ErrorCode::kInvalidArgument,
                  fmt::format("object {}: {}", event.object.ToShortString(), wrong));
  }
  if (window.collecting()) return window.Defer(node, event);
  ObjectRecord& record = objects.Touch(event.object, node);
  // In an inventory copies come before requests: one that was not repeated by now is gone (R15).
  const Copy* own = record.table.Find(node);
  if (own == nullptr || !own->live) {
    // Bytes that it gave and was never told of their acceptance are no other Put's.
    if (record.putter == Putter{node, event.attempt}) inlined.Drop(record);
    if (own != nullptr) versions.DropCopy(event.object, record, node);
  }
  std::vector<PendingCreate>& creates = record.waits.Make().creates;
  std::erase_if(creates, [&](const PendingCreate& c) { return c.node == node; });
  creates.push_back({node, event});
}

void DirectoryState::State::On(NodeId node, const Withdraw& event) {
  if (window.collecting()) return window.Defer(node, event);
  if (ObjectRecord* record = objects.Find(event.object)) {
    std::erase_if(record->waits.Make().creates, [&](const PendingCreate& c) {
      return c.node == node && c.request.attempt == event.attempt;
    });
    agenda.Add(event.object);
    if (record->putter == Putter{node, event.attempt}) {
      record->putter = {};
      versions.DropCopy(event.object, *record, node);
      if (record->inline_bytes != nullptr) {
        post.Notify(event.object, *record, kNoNode, LocationKind::kGone);
      }
      inlined.Drop(*record);
    }
  }
  Refuse(event.object, node, ErrorCode::kCancelled,
         fmt::format("the put of object {} was taken back", event.object.ToShortString()));
}

void DirectoryState::State::ResolveCreates(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits) return;
  std::vector<PendingCreate>& creates = record.waits->creates;
  while (!creates.empty()) {
    const NodeId node = creates.front().node;
    if (std::string blocked = marks.WhyBlocked(id, clock.now()); !blocked.empty()) {
      Refuse(id, node, ErrorCode::kDeleted, std::move(blocked));
    } else if (record.open_reduction() && record.reduction->coordinator != node) {
      Refuse(id, node, ErrorCode::kAlreadyExists,
             fmt::format("object {} is the target of a reduction", id.ToShortString()));
    } else if (record.inline_bytes != nullptr || record.table.live_final_count() > 0) {
      Refuse(id, node, ErrorCode::kAlreadyExists,
             fmt::format("object {} already exists with {}", id.ToShortString(),
                         FormatSize(record.table.layout().size_bytes)));
    } else if (record.table.final_count() > 0) {
      return;  // a suspended node may come back with it: wait for the end of its grace
    } else {
      const PendingCreate create = creates.front();
      Accept(id, record, create);
    }
    creates.erase(creates.begin());
  }
}

void DirectoryState::State::Accept(const ObjectId& id, ObjectRecord& record,
                                   const PendingCreate& create) {
  const Create& request = create.request;
  // The coordinator's own Create is the result: it folded small sources by itself.
  if (record.reduction) orders.Drop(id, *std::exchange(record.reduction, std::nullopt));
  versions.Start(id, record, stamps.NextVersion(), request.layout, request.metadata);
  record.putter = {create.node, request.attempt};
  const bool complete = request.inline_bytes != nullptr;
  record.table.Add(create.node);
  record.table.Edit(create.node, [&](Copy& copy) {
    copy.listed = copy.primary = true;
    copy.complete = complete;
    copy.producing = !complete;
    copy.order = stamps.NextRequest();
    if (complete) copy.marks = request.layout.full_marks();
    if (complete) copy.done = request.layout.all_stripes();
  });
  post.Send(create.node, CreateAccepted{id, record.version});
  inlined.Keep(record, request.inline_bytes);
  if (record.inline_bytes != nullptr) post.Notify(id, record, kNoNode, LocationKind::kInline);
  post.Notify(id, record, create.node, complete ? LocationKind::kComplete : LocationKind::kPartial);
}

void DirectoryState::State::Refuse(const ObjectId& id, NodeId node, ErrorCode code,
                                   std::string message) {
  post.Send(node, CreateRefused{id, code, std::move(message)});
}

void DirectoryState::State::On(NodeId node, const Locate& event) {
  if (post.AnswerDeleted(event.object, node)) return;
  ObjectRecord& record = objects.Touch(event.object, node);
  Waiting& waiting = record.waits.Make();
  waiting.locates.insert(node);
  if (!record.exists() && !waiting.lost_holder.empty()) {
    post.Send(node, HolderLost{event.object, waiting.lost_holder});
  }
}

void DirectoryState::State::On(NodeId node, const CancelLocate& event) {
  if (ObjectRecord* record = objects.Find(event.object)) record->waits.Make().locates.erase(node);
}

void DirectoryState::State::ResolveLocates(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits || !record.exists()) return;
  for (const NodeId node : std::exchange(record.waits->locates, {})) {
    const std::string& metadata = record.metadata.OrEmpty();
    if (record.inline_bytes != nullptr) {
      post.Send(node, InlineObject{id, record.version, metadata, record.inline_bytes});
      continue;
    }
    post.Send(node, Located{id, record.version, record.table.layout(), metadata});
    if (options.fault != PlantedFault::kListsWaitersForMemory) continue;
    if (record.table.Find(node) != nullptr) continue;
    record.table.Add(node);
    record.table.Edit(node, [](Copy& copy) { copy.listed = true; });
  }
}

void DirectoryState::State::On(NodeId node, const Subscribe& event) {
  post.AnswerDeleted(event.object, node);
  ObjectRecord& record = objects.Touch(event.object, node);
  record.waits.Make().subscribers.insert(node);
  const auto tell = [&](NodeId holder, LocationKind kind) {
    post.NotifyOne(node, event.object, record, holder, kind);
  };
  if (record.inline_bytes != nullptr) tell(kNoNode, LocationKind::kInline);
  for (const auto& [holder, copy] : record.table.copies()) {
    if (copy.listed) tell(holder, copy.complete ? LocationKind::kComplete : LocationKind::kPartial);
  }
}

void DirectoryState::State::On(NodeId node, const Unsubscribe& event) {
  if (ObjectRecord* record = objects.Find(event.object))
    record->waits.Make().subscribers.erase(node);
}

}  // namespace hoplite::planner
