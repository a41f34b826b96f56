// Reductions of this shard's targets: attempts are numbered, orders passed on, and whichever comes
// first, a reset or the commit, counts for everybody (R29-R36). Which source takes which slot
// is the coordinator's decision (reduce_planner).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "planner/directory_internal.h"

namespace hoplite::planner {
namespace {

// The planted fault: the slot first, then all that are executed.
std::vector<std::uint32_t> EveryOther(const SlotTree& tree, std::uint32_t slot) {
  std::vector<std::uint32_t> all{slot};
  for (const auto& [other, known] : tree.slots()) {
    if (other != slot && known.version) all.push_back(other);
  }
  return all;
}

}  // namespace

ReductionRecord* DirectoryState::State::OpenReduction(NodeId node, const ObjectId& id,
                                                      std::uint64_t request) {
  ObjectRecord* record = objects.Find(id);
  if (record == nullptr || !record->reduction) return nullptr;
  ReductionRecord& reduction = *record->reduction;
  const bool theirs = reduction.coordinator == node && reduction.request == request;
  return theirs && !reduction.committed ? &reduction : nullptr;
}

// --- the coordinator

void DirectoryState::State::On(NodeId node, const ReduceOpen& event) {
  if (window.collecting()) return window.Defer(node, nodes.SessionOf(node), event);
  ObjectRecord& record = objects.Touch(event.object, node);
  std::vector<PendingOpen>& opens = record.waits.Make().opens;
  std::erase_if(opens, [&](const PendingOpen& open) {
    return open.node == node && open.request == event.request;
  });
  auto& known = record.reduction;
  if (known && known->coordinator == node && known->request == event.request) {
    known->vouched = true;
    return RepeatToCoordinator(event.object, *known);
  }
  opens.push_back({node, event.request});
}

// Its session was interrupted: what it was told meanwhile is lost.
void DirectoryState::State::RepeatToCoordinator(const ObjectId& id,
                                                const ReductionRecord& reduction) {
  post.Send(reduction.coordinator, ReduceOpened{id, reduction.request, nodes.link()});
  if (reduction.committed) {
    return post.Send(reduction.coordinator,
                     ReduceCommitted{id, reduction.committed, reduction.request, reduction.used});
  }
  for (const auto& [slot, record] : reduction.tree.slots()) {
    if (record.lost) {
      post.Send(reduction.coordinator, SlotLost{id, reduction.request, record.attempt, slot,
                                                record.lost->code, record.lost->message});
    }
  }
}

void DirectoryState::State::ResolveOpens(const ObjectId& id, ObjectRecord& record) {
  if (!record.waits) return;
  std::vector<PendingOpen>& opens = record.waits->opens;
  while (!opens.empty()) {
    const PendingOpen open = opens.front();
    const auto refuse = [&](ErrorCode code, std::string why) {
      post.Send(open.node, ReduceRefused{id, open.request, code, std::move(why)});
    };
    if (std::string blocked = marks.WhyBlocked(id, clock.now()); !blocked.empty()) {
      refuse(ErrorCode::kDeleted, std::move(blocked));
    } else if (record.open_reduction()) {
      refuse(ErrorCode::kAlreadyExists,
             fmt::format("object {} is already the target of a reduction", id.ToShortString()));
    } else if (record.inline_bytes != nullptr || record.table.live_final_count() > 0) {
      refuse(ErrorCode::kAlreadyExists,
             fmt::format("object {} already exists", id.ToShortString()));
    } else if (record.table.final_count() > 0) {
      return;  // a suspended node may come back with it: wait for the end of its grace
    } else {
      record.reduction = ReductionRecord{.coordinator = open.node, .request = open.request};
      post.Send(open.node, ReduceOpened{id, open.request, nodes.link()});
    }
    opens.erase(opens.begin());
    for (const auto& order : open.then) {
      std::visit([&](const auto& said) { On(open.node, said); }, order);
    }
  }
}

PendingOpen* DirectoryState::State::Pending(NodeId node, const ObjectId& id,
                                            std::uint64_t request) {
  ObjectRecord* record = objects.Find(id);
  if (record == nullptr || !record->waits) return nullptr;
  std::vector<PendingOpen>& opens = record->waits->opens;
  const auto open = std::ranges::find_if(opens, [&](const PendingOpen& pending) {
    return pending.node == node && pending.request == request;
  });
  return open == opens.end() ? nullptr : &*open;
}

void DirectoryState::State::On(NodeId node, const ReduceShape& event) {
  if (window.collecting()) return window.Defer(node, nodes.SessionOf(node), event);
  if (PendingOpen* open = Pending(node, event.object, event.request)) {
    open->then.emplace_back(event);
    return;
  }
  ReductionRecord* reduction = OpenReduction(node, event.object, event.request);
  const bool sound =
      event.layout.Validate() && event.metadata.size() <= options.metadata_limit_bytes;
  if (reduction == nullptr || reduction->shaped || !sound) return;
  reduction->shaped = true;
  reduction->layout = event.layout;
  reduction->fold = event.fold;
  reduction->metadata = event.metadata;
}

void DirectoryState::State::On(NodeId node, const SlotAssign& event) {
  if (window.collecting()) return window.Defer(node, nodes.SessionOf(node), event);
  if (PendingOpen* open = Pending(node, event.object, event.request)) {
    open->then.emplace_back(event);
    return;
  }
  ReductionRecord* reduction = OpenReduction(node, event.object, event.request);
  if (reduction == nullptr || !reduction->shaped) return;
  ObjectRecord& record = *objects.Find(event.object);
  SlotTree& tree = reduction->tree;
  const std::uint32_t slot = event.order.slot;
  if (const std::string wrong = tree.WrongWith(event.order); !wrong.empty()) {
    return EndReduction(event.object, record, Error(ErrorCode::kProtocol, wrong), node);
  }
  const SlotRecord* before = tree.Find(slot);
  if (event.attempt <= (before == nullptr ? 0 : before->attempt)) return;
  const std::string twice = tree.TwiceIn(event.order);
  if (!twice.empty() && options.fault != PlantedFault::kFoldsTwice) {
    return EndReduction(event.object, record, Error(ErrorCode::kProtocol, twice), node);
  }
  std::vector<std::uint32_t> renewed{slot};
  if (before != nullptr && before->version) {
    post.Send(before->order.node, SlotDropped{event.object, slot, before->version});
    std::ranges::copy(tree.Ancestors(slot), std::back_inserter(renewed));
    if (options.fault == PlantedFault::kResetsSiblings) renewed = EveryOther(tree, slot);
  }
  tree.Place(event.order, event.attempt);
  for (const std::uint32_t each : renewed) NewAttempt(event.object, record, each);
  for (const std::uint32_t each : renewed) TellOrder(event.object, *reduction, each);
  for (const std::uint32_t each : renewed) TellFeeds(event.object, *reduction, each);
  if (renewed.size() == 1) TellFeed(event.object, *reduction, slot);
  NoteSlot(record, event.order.node, slot);
}

// Those who fold parts of the target may read it, too: in the order of their slots.
void DirectoryState::State::NoteSlot(ObjectRecord& record, NodeId node, std::uint32_t slot) {
  if (node == kNoNode || record.table.Find(node) == nullptr) return;
  record.table.Edit(node, [&](Copy& copy) { copy.slot = slot; });
}

// The slot starts again, or for the first time; a root's version is the target's.
void DirectoryState::State::NewAttempt(const ObjectId& id, ObjectRecord& record,
                                       std::uint32_t slot) {
  ReductionRecord& reduction = *record.reduction;
  SlotRecord* placed = reduction.tree.Find(slot);
  if (placed == nullptr) return;
  SlotRecord& known = *placed;
  const bool vacant = known.order.node == kNoNode;
  const bool root = known.order.parent == 0;
  known.drained = false;
  known.marks = {};
  known.version = vacant ? Version() : stamps.NextVersion();
  if (root)
    versions.Start(id, record, vacant ? stamps.NextVersion() : known.version, reduction.layout,
                   reduction.metadata);
  if (vacant) return;
  if (nodes.Find(known.order.node) == nullptr) {
    return MarkLost(id, reduction, slot, ErrorCode::kPeerLost,
                    nodes.NameOf(known.order.node) + " is no member any more");
  }
  objects.Touch(id, known.order.node);
  if (!root) return;
  record.table.Add(known.order.node);
  record.table.Edit(known.order.node, [&](Copy& copy) {
    copy.listed = copy.primary = copy.producing = true;
    copy.live = nodes.alive(known.order.node);
    copy.order = stamps.NextRequest();
  });
  post.Notify(id, record, known.order.node, LocationKind::kPartial);
}

void DirectoryState::State::TellOrder(const ObjectId& id, const ReductionRecord& reduction,
                                      std::uint32_t slot) {
  const SlotRecord* known = reduction.tree.Find(slot);
  if (known == nullptr || !known->version) return;
  post.Send(known->order.node, SlotAssigned{id, known->version, known->order, reduction.layout,
                                            reduction.fold, reduction.metadata});
}

// What the slot is fed by. A child that died after it was drained is needed again now.
void DirectoryState::State::TellFeeds(const ObjectId& id, ReductionRecord& reduction,
                                      std::uint32_t slot) {
  for (const std::uint32_t child : reduction.tree.ChildrenOf(slot)) TellFeed(id, reduction, child);
}

void DirectoryState::State::TellFeed(const ObjectId& id, ReductionRecord& reduction,
                                     std::uint32_t child) {
  SlotRecord& fed = *reduction.tree.Find(child);
  const SlotRecord* parent = reduction.tree.Find(fed.order.parent);
  if (parent == nullptr || !parent->version || !fed.version) return;
  fed.drained = false;
  const NodeRecord* source = nodes.Find(fed.order.node);
  if (source == nullptr) {
    if (fed.lost) return;
    return MarkLost(id, reduction, child, ErrorCode::kPeerLost,
                    nodes.NameOf(fed.order.node) + " was lost");
  }
  post.Send(parent->order.node,
            SlotFeed{id, fed.order.parent, parent->version, child, fed.version, source->info});
}

void DirectoryState::State::MarkLost(const ObjectId& id, ReductionRecord& reduction,
                                     std::uint32_t slot, ErrorCode code, std::string message) {
  SlotRecord& known = *reduction.tree.Find(slot);
  if (known.lost) return;
  known.drained = false;
  known.lost = SlotFault{code, message};
  post.Send(reduction.coordinator,
            SlotLost{id, reduction.request, known.attempt, slot, code, std::move(message)});
}

void DirectoryState::State::On(NodeId node, const ReduceClose& event) {
  if (window.collecting()) return window.Defer(node, nodes.SessionOf(node), event);
  ObjectRecord* record = objects.Find(event.object);
  if (record == nullptr) return;
  std::erase_if(record->waits.Make().opens, [&](const PendingOpen& open) {
    return open.node == node && open.request == event.request;
  });
  const auto& known = record->reduction;
  if (!known || known->coordinator != node || known->request != event.request) return;
  if (known->committed) {
    record->reduction.reset();
  } else {
    EndReduction(event.object, *record, Error(event.code, event.message), kNoNode);
  }
}

// Participants let go; whoever waits for the target, or has a part of it, hears why. Who was told
// where it is and gets memory for it now waits too, so everybody hears it who ever asked.
void DirectoryState::State::EndReduction(const ObjectId& id, ObjectRecord& record,
                                         const Error& error, NodeId tell_coordinator) {
  const ReductionRecord ended = *std::exchange(record.reduction, std::nullopt);
  DropSlots(id, ended);
  if (ended.committed) return;
  if (tell_coordinator != kNoNode) {
    post.Send(tell_coordinator, ReduceRefused{id, ended.request, error.code, error.message});
  }
  if (record.waits) {
    record.waits->locates.clear();
    record.waits->evictions.clear();
  }
  for (const auto& [node, copy] : record.table.copies()) {
    if (copy.listed) post.Notify(id, record, node, LocationKind::kGone);
  }
  record.table = CopyTable(record.table.layout());
  for (const NodeId node : record.touched) {
    post.Send(node, TargetAborted{id, error.code, error.message});
  }
}

void DirectoryState::State::DropSlots(const ObjectId& id, const ReductionRecord& reduction) {
  for (const auto& [slot, record] : reduction.tree.slots()) {
    if (record.version) post.Send(record.order.node, SlotDropped{id, slot, record.version});
  }
}

// --- participants

SlotRecord* DirectoryState::State::Executes(NodeId node, const ObjectId& id, std::uint32_t slot,
                                            Version version) {
  ObjectRecord* record = objects.Find(id);
  if (record == nullptr || !record->reduction) return nullptr;
  SlotRecord* known = record->reduction->tree.Find(slot);
  const bool executes = known != nullptr && known->version == version && known->order.node == node;
  return executes ? known : nullptr;
}

// The child that a participant speaks of; null if either attempt is an old one.
SlotRecord* DirectoryState::State::InputOf(NodeId node, const ObjectId& id, std::uint32_t slot,
                                           Version version, std::uint32_t input,
                                           Version input_version) {
  if (Executes(node, id, slot, version) == nullptr) return nullptr;
  SlotRecord* child = objects.Find(id)->reduction->tree.Find(input);
  if (child == nullptr || child->order.parent != slot) return nullptr;
  const bool current = input_version && child->version == input_version;
  return current ? child : nullptr;
}

void DirectoryState::State::On(NodeId node, const SlotFailed& event) {
  const bool itself = event.input == 0;
  const SlotRecord* failed = itself ? Executes(node, event.object, event.slot, event.version)
                                    : InputOf(node, event.object, event.slot, event.version,
                                              event.input, event.input_version);
  // Nothing of a drained one is needed. If it ever is again, its parent says that it isn't there,
  // or it has no memory to make it once more.
  if (failed == nullptr) return;
  if (itself && failed->drained && event.code != ErrorCode::kResourceExhausted) return;
  MarkLost(event.object, *objects.Find(event.object)->reduction, failed->order.slot, event.code,
           event.message);
}

void DirectoryState::State::On(NodeId node, const SlotDrained& event) {
  SlotRecord* input =
      InputOf(node, event.object, event.slot, event.version, event.input, event.input_version);
  if (input != nullptr) input->drained = true;
}

void DirectoryState::State::On(NodeId node, const SlotProgress& event) {
  nodes.NoteLink(node, event.bytes_per_second, event.round_trip);
  SlotRecord* known = Executes(node, event.object, event.slot, event.version);
  if (known == nullptr) {
    if (window.collecting()) return window.Defer(node, nodes.SessionOf(node), event);
    const ObjectRecord* made = objects.Find(event.object);
    // The root that made it repeats its commit, and ends when that is answered.
    if (made != nullptr && Committed(*made, event.version)) return;
    return post.Send(node, SlotDropped{event.object, event.slot, event.version});
  }
  ObjectRecord& record = *objects.Find(event.object);
  if (record.reduction->layout.valid(event.marks)) known->marks = event.marks;
  if (known->order.parent != 0 || record.table.Find(node) == nullptr) return;
  record.table.Edit(node, [](Copy& copy) { copy.live = true; });
  record.table.RaiseMarks(node, event.marks);
}

bool DirectoryState::State::Committed(const ObjectRecord& record, Version version) const {
  if (record.version != version) return false;
  return record.reduction ? record.reduction->committed == version : record.exists();
}

void DirectoryState::State::On(NodeId node, const ReduceCommit& event) {
  ObjectRecord* record = objects.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  if (Committed(*record, event.version)) {  // repeated: its answer was lost with a session
    transfers.On(node, CopyComplete{event.object, event.version});
    record->table.Edit(node, [](Copy& copy) { copy.live = copy.primary = true; });
    return post.Send(node, ReduceCommitted{event.object, event.version, 0, {}});
  }
  if (!record->reduction) return;
  ReductionRecord& reduction = *record->reduction;
  const SlotRecord* root = reduction.tree.Root();
  if (root == nullptr || root->version != event.version || root->order.node != node) return;
  reduction.committed = event.version;
  reduction.used = reduction.tree.Inputs();
  transfers.On(node, CopyComplete{event.object, event.version});
  const ReduceCommitted committed{event.object, event.version, reduction.request, reduction.used};
  post.Send(node, committed);
  if (reduction.coordinator != node) post.Send(reduction.coordinator, committed);
  DropSlots(event.object, reduction);
  reduction.tree.Clear();
}

// --- members

void DirectoryState::State::LoseFromReduction(const ObjectId& id, ObjectRecord& record,
                                              NodeId node) {
  if (record.waits) {
    std::erase_if(record.waits->opens, [&](const PendingOpen& o) { return o.node == node; });
  }
  if (!record.reduction) return;
  ReductionRecord& reduction = *record.reduction;
  if (reduction.committed) return;  // it may come back and ask
  if (reduction.coordinator == node) {
    return EndReduction(
        id, record,
        Error(ErrorCode::kPeerLost,
              fmt::format("the reduction into {} ended: its coordinator {} was lost",
                          id.ToShortString(), nodes.NameOf(node))),
        kNoNode);
  }
  for (const auto& [slot, known] : reduction.tree.slots()) {
    if (known.order.node != node || !known.version || known.drained) continue;
    MarkLost(id, reduction, slot, ErrorCode::kPeerLost, nodes.NameOf(node) + " was lost");
  }
}

// The node's inventory is over. What it did not ask for again it gave up, or has the outcome of.
void DirectoryState::State::ResumeReduction(const ObjectId& id, ObjectRecord& record, NodeId node) {
  if (!record.reduction) return;
  agenda.Add(id);
  const ReductionRecord& known = *record.reduction;
  if (known.coordinator == node && !known.vouched) {
    return EndReduction(
        id, record,
        Error(ErrorCode::kCancelled,
              fmt::format("the reduction into {} ended: its coordinator {} gave it up",
                          id.ToShortString(), nodes.NameOf(node))),
        kNoNode);
  }
  RepeatOrders(id, record, node);
}

// After an interrupted session: orders that it may have missed; it knows the versions.
void DirectoryState::State::RepeatOrders(const ObjectId& id, ObjectRecord& record, NodeId node) {
  ReductionRecord& reduction = *record.reduction;
  for (const auto& [slot, known] : reduction.tree.slots()) {
    if (known.order.node != node || !known.version) continue;
    TellOrder(id, reduction, slot);
    if (known.order.parent == 0 && record.table.Find(node) != nullptr) {
      record.table.Edit(node, [](Copy& copy) { copy.live = true; });  // it is made from now on
    }
    for (const std::uint32_t child : reduction.tree.ChildrenOf(slot)) {
      if (!reduction.tree.Find(child)->drained) TellFeed(id, reduction, child);
    }
  }
}

}  // namespace hoplite::planner
