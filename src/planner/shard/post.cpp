#include "planner/shard/post.h"

#include <optional>
#include <string>
#include <utility>

namespace hoplite::planner {

void Post::Send(NodeId to, NodeAction body, MoveReason why) {
  if (nodes_.alive(to)) outbox_.Add(to, std::move(body), why);
}

void Post::Notify(const ObjectId& id, const ObjectRecord& record, NodeId node, LocationKind kind) {
  for (const NodeId subscriber : record.waiting().subscribers) {
    NotifyOne(subscriber, id, record, node, kind);
  }
}

Location Post::LocationOf(const ObjectId& id, const ObjectRecord& record, NodeId node,
                          LocationKind kind) const {
  Location location{.object = id, .version = record.version, .node = node, .kind = kind};
  if (node != kNoNode) location.node_name = nodes_.NameOf(node);
  if (kind == LocationKind::kGone) return location;
  const Copy* copy = record.table.Find(node);
  location.site = nodes_.SiteOf(node);
  location.producing = copy != nullptr && !copy->complete && copy->final();
  location.layout = record.table.layout();
  location.metadata = record.metadata.OrEmpty();
  return location;
}

void Post::TellLost(const ObjectId& id, const ObjectRecord& record) {
  const Loss& loss = record.waiting().loss;
  for (const Asking& one : record.waiting().locates) Send(one.node, HolderLost{id, loss});
  for (const NodeId node : record.waiting().subscribers) Send(node, HolderLost{id, loss});
  for (const auto& [node, copy] : record.table.copies()) {
    if (copy.wanted != 0) Send(node, HolderLost{id, loss});
  }
}

bool Post::AnswerDeleted(const ObjectId& id, NodeId node) {
  const std::optional<Time> until = tombstones_.Until(id, clock_.now());
  if (until) Send(node, Deleted{id, *until - clock_.now(), tombstones_.VersionOf(id)});
  return until.has_value();
}

bool Post::AnswerFailed(const ObjectId& id, NodeId node, Version version, std::uint64_t question) {
  const ReductionEnd* end = ended_.Of(id, version, clock_.now());
  if (end == nullptr) return false;
  Send(node, TargetAborted{id, end->version, end->error.code, end->error.message, question});
  return true;
}

void Post::NotifyOne(NodeId to, const ObjectId& id, const ObjectRecord& record, NodeId node,
                     LocationKind kind) {
  Send(to, LocationOf(id, record, node, kind));
}

}  // namespace hoplite::planner
