#include "planner/shard/reduction_requests.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "protocol/elements.h"

namespace hoplite::planner {
namespace {

// Number of the node's Locate; 0: it has none open.
std::uint64_t QuestionOf(NodeId node, const SmallSet<Asking>& asking) {
  const auto* const asked = std::ranges::lower_bound(asking, node, {}, &Asking::node);
  return asked != asking.end() && asked->node == node ? asked->number : 0;
}

}  // namespace

ReductionRecord* ReductionRequests::Open(NodeId node, const ObjectId& id, std::uint64_t request) {
  ObjectRecord* record = objects_.Find(id);
  if (record == nullptr || !record->reduction) return nullptr;
  ReductionRecord& reduction = *record->reduction;
  const bool theirs = reduction.coordinator == node && reduction.request == request;
  return theirs && !reduction.committed ? &reduction : nullptr;
}

PendingOpen* ReductionRequests::Pending(NodeId node, const ObjectId& id, std::uint64_t request) {
  ObjectRecord* record = objects_.Find(id);
  if (record == nullptr || !record->waits) return nullptr;
  std::vector<PendingOpen>& opens = record->waits->opens;
  const auto open = std::ranges::find_if(opens, [&](const PendingOpen& pending) {
    return pending.node == node && pending.request == request;
  });
  return open == opens.end() ? nullptr : &*open;
}

void ReductionRequests::On(NodeId node, const ReduceOpen& event) {
  if (window_.collecting()) return window_.Defer(node, event);
  // It ended while its coordinator was away, and its readers were told so.
  if (const auto* end = ended_.Of(event.object, node, event.request, clock_.now())) {
    return post_.Send(
        node, ReduceRefused{event.object, event.request, end->error.code, end->error.message});
  }
  ObjectRecord& record = objects_.Touch(event.object, node);
  std::vector<PendingOpen>& opens = record.waits.Make().opens;
  std::erase_if(opens, [&](const PendingOpen& open) {
    return open.node == node && open.request == event.request;
  });
  auto& known = record.reduction;
  if (known && known->coordinator == node && known->request == event.request) {
    known->vouched = true;
    if (known->committed && known->owner.owned) {
      ownership_.Accepted(node, event.object, known->owner, 0, true);
    }
  }
  opens.push_back(
      {node, event.request, {event.owned, event.number, event.grace}, event.shard_fold, {}});
}

void ReductionRequests::Answer(const ObjectId& id, ObjectRecord& record, const PendingOpen& open) {
  const bool unplanned = !record.reduction->shaped && !record.reduction->committed;
  if (unplanned && folds_.Make(id, record, open.shard_fold)) return;
  RepeatToCoordinator(id, record);
}

void ReductionRequests::RepeatToCoordinator(const ObjectId& id, ObjectRecord& record) {
  const ReductionRecord& reduction = *record.reduction;
  post_.Send(reduction.coordinator, ReduceOpened{id, reduction.request, nodes_.link()});
  if (reduction.committed) return folds_.Tell(id, record);
  for (const auto& [number, slot] : reduction.tree.slots()) {
    if (slot.lost) orders_.TellLost(id, reduction, slot);
  }
}

void ReductionRequests::ResolveOpens(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits) return;
  std::vector<PendingOpen>& opens = record.waits->opens;
  while (!opens.empty()) {
    const PendingOpen open = opens.front();
    const auto refuse = [&](ErrorCode code, std::string why) {
      post_.Send(open.node, ReduceRefused{id, open.request, code, std::move(why)});
    };
    const auto& known = record.reduction;
    if (known && known->coordinator == open.node && known->request == open.request) {
      Answer(id, record, open);
    } else if (std::string blocked = tombstones_.WhyBlocked(id, clock_.now()); !blocked.empty()) {
      refuse(ErrorCode::kDeleted, std::move(blocked));
    } else if (record.open_reduction()) {
      refuse(ErrorCode::kAlreadyExists,
             fmt::format("object {} is already the target of a reduction", id.ToHex()));
    } else if (record.inline_bytes != nullptr || record.table.live_whole()) {
      refuse(ErrorCode::kAlreadyExists, fmt::format("object {} already exists", id.ToHex()));
    } else if (record.table.whole()) {
      return;  // a suspended node may come back with it: wait for the end of its grace
    } else if (const auto no = ownership_.WhyNot(open.node, id, open.owner.owned);
               !no.message.empty()) {
      refuse(no.code, no.message);
    } else {
      record.reduction =
          ReductionRecord{.coordinator = open.node, .request = open.request, .owner = open.owner};
      Answer(id, record, open);
    }
    opens.erase(opens.begin());
    for (const auto& order : open.then) {
      std::visit([&](const auto& said) { On(open.node, said); }, order);
    }
  }
}

template <typename Order>
bool ReductionRequests::Later(NodeId node, const Order& event) {
  if (window_.collecting()) {
    window_.Defer(node, event);
    return true;
  }
  PendingOpen* const open = Pending(node, event.object, event.request);
  if (open == nullptr) return false;
  open->then.emplace_back(event);
  return true;
}

void ReductionRequests::On(NodeId node, const ReduceShape& event) {
  if (Later(node, event)) return;
  ReductionRecord* reduction = Open(node, event.object, event.request);
  const bool sound = event.layout.Validate() &&
                     protocol::UsersPart(event.metadata).size() <= options_.metadata_limit_bytes;
  if (reduction == nullptr || reduction->shaped || !sound) return;
  ObjectRecord& record = *objects_.Find(event.object);
  if (std::string full = versions_.WhyNoRoom(event.object, record, event.metadata); !full.empty()) {
    return End(event.object, record, Error(ErrorCode::kResourceExhausted, std::move(full)), node);
  }
  reduction->shaped = true;
  reduction->layout = event.layout;
  reduction->fold = event.fold;
  reduction->metadata = event.metadata;
  reduction->everyone_reads = event.everyone_reads;
  reduction->tree = SlotTree(event.layout.all_stripes());
}

void ReductionRequests::On(NodeId node, const ReduceOrders& event) {
  if (Later(node, event)) return;
  ReductionRecord* reduction = Open(node, event.object, event.request);
  if (reduction == nullptr || !reduction->shaped) return;
  if (event.plan == 0) {
    for (const PlannedOrder& planned : event.orders) {
      if (!Assign(node, event.object, planned)) return;
    }
    return;
  }
  if (event.plan <= reduction->plan) return;
  ObjectRecord& record = *objects_.Find(event.object);
  Result<SlotTree> slots = SlotTree::Of(reduction->layout.all_stripes(), event.orders);
  if (!slots) return End(event.object, record, slots.error(), node);
  orders_.Replace(event.object, record, event.plan, *std::move(slots));
}

bool ReductionRequests::Assign(NodeId node, const ObjectId& id, const PlannedOrder& planned) {
  ObjectRecord& record = *objects_.Find(id);
  const ReductionRecord& reduction = *record.reduction;
  const SlotRecord* before = reduction.tree.Find(planned.order.slot);
  const std::uint64_t known = before == nullptr ? 0 : before->attempt;
  if (planned.attempt <= std::max(known, reduction.plan)) return true;
  std::string wrong = reduction.tree.WrongWith(planned.order);
  if (wrong.empty()) wrong = reduction.tree.TwiceIn(planned.order);
  if (!wrong.empty()) {
    End(id, record, Error(ErrorCode::kProtocol, wrong), node);
    return false;
  }
  orders_.Assign(id, record, planned);
  return true;
}

void ReductionRequests::On(NodeId node, const ReduceClose& event) {
  if (window_.collecting()) return window_.Defer(node, event);
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr) return;
  std::erase_if(record->waits.Make().opens, [&](const PendingOpen& open) {
    return open.node == node && open.request == event.request;
  });
  const auto& known = record->reduction;
  if (!known || known->coordinator != node || known->request != event.request) return;
  if (known->committed) {
    record->reduction.reset();
  } else {
    End(event.object, *record, Error(event.code, event.message), kNoNode);
  }
}

// Participants let go; whoever waits for the target, or has a part of it, hears why. Who was told
// where it is and gets memory for it now waits too, so everybody hears it who ever asked. Whoever
// asks later, or was away, hears the same (R69).
void ReductionRequests::End(const ObjectId& id, ObjectRecord& record, const Error& error,
                            NodeId tell_coordinator) {
  const ReductionRecord ended = *std::exchange(record.reduction, std::nullopt);
  orders_.Drop(id, ended);
  if (ended.committed) return;
  ended_.Insert(id, {ended.coordinator, ended.request, record.version, error},
                clock_.now() + options_.tombstone);
  if (tell_coordinator != kNoNode) {
    post_.Send(tell_coordinator, ReduceRefused{id, ended.request, error.code, error.message});
  }
  const SmallSet<Asking> asking =
      record.waits ? std::exchange(record.waits->locates, {}) : SmallSet<Asking>();
  if (record.waits) record.waits->evictions.clear();
  for (const auto& [node, copy] : record.table.copies()) {
    if (copy.listed) post_.Notify(id, record, node, LocationKind::kGone);
  }
  record.table = CopyTable(record.table.layout());
  for (const NodeId node : record.touched) {
    post_.Send(node, TargetAborted{id, record.version, error.code, error.message,
                                   QuestionOf(node, asking)});
  }
}

void ReductionRequests::Lose(const ObjectId& id, ObjectRecord& record, NodeId node) {
  if (record.waits) {
    std::erase_if(record.waits->opens, [&](const PendingOpen& o) { return o.node == node; });
  }
  if (!record.reduction) return;
  ReductionRecord& reduction = *record.reduction;
  if (reduction.committed) {  // its coordinator may come back and ask
    if (reduction.coordinator == node) reduction.withheld = false;
    return;
  }
  if (reduction.coordinator == node) {
    return End(id, record,
               Error(ErrorCode::kPeerLost,
                     fmt::format("the reduction into {} ended: its coordinator {} was lost",
                                 id.ToHex(), nodes_.NameOf(node))),
               kNoNode);
  }
  orders_.MarkLostAt(id, reduction, node);
}

void ReductionRequests::Resume(const ObjectId& id, ObjectRecord& record, NodeId node) {
  if (!record.reduction) return;
  agenda_.Add(id);
  const ReductionRecord& known = *record.reduction;
  if (known.coordinator == node && !known.vouched) {
    return End(id, record,
               Error(ErrorCode::kCancelled,
                     fmt::format("the reduction into {} ended: its coordinator {} gave it up",
                                 id.ToHex(), nodes_.NameOf(node))),
               kNoNode);
  }
  orders_.Repeat(id, record, node);
}

}  // namespace hoplite::planner
