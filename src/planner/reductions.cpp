// Reductions of this shard's targets: attempts are numbered, orders passed on, and whichever comes
// first, a reset or the commit, counts for everybody (R29-R36). Which source takes which position
// is the coordinator's decision (reduce_planner).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "planner/directory_internal.h"

namespace hoplite::planner {
namespace {

// From a position up to the root. A broken coordinator's circle ends the walk.
std::vector<std::uint32_t> Ancestors(const ReductionRecord& reduction, std::uint32_t slot) {
  std::vector<std::uint32_t> path;
  for (auto at = reduction.slots.find(slot); at != reduction.slots.end();) {
    const std::uint32_t parent = at->second.order.parent;
    if (parent == 0 || parent == slot || path.size() > reduction.slots.size()) break;
    path.push_back(parent);
    at = reduction.slots.find(parent);
  }
  return path;
}

std::vector<ObjectId> InputsOf(const ReductionRecord& reduction) {
  std::vector<ObjectId> used;
  for (const auto& [slot, record] : reduction.slots) {
    for (const SlotInput& input : record.order.inputs) used.push_back(input.object);
  }
  return used;
}

}  // namespace

ReductionRecord* DirectoryState::State::OpenReduction(NodeId node, const ObjectId& id,
                                                      std::uint64_t request) {
  ObjectRecord* record = Find(id);
  if (record == nullptr || !record->reduction) return nullptr;
  ReductionRecord& reduction = *record->reduction;
  const bool theirs = reduction.coordinator == node && reduction.request == request;
  return theirs && !reduction.committed ? &reduction : nullptr;
}

// --- the coordinator

void DirectoryState::State::On(NodeId node, const ReduceOpen& event) {
  if (collecting) return Later(node, event);
  ObjectRecord& record = Touch(event.object, node);
  std::erase_if(record.opens, [&](const PendingOpen& open) { return open.node == node; });
  const auto& known = record.reduction;
  if (known && known->coordinator == node && known->request == event.request) {
    return RepeatToCoordinator(event.object, *known);
  }
  record.opens.push_back({node, event.request});
}

// Its session was interrupted: what it was told meanwhile is lost.
void DirectoryState::State::RepeatToCoordinator(const ObjectId& id,
                                                const ReductionRecord& reduction) {
  Send(reduction.coordinator, ReduceOpened{id, reduction.request, link});
  if (reduction.committed) {
    return Send(reduction.coordinator,
                ReduceCommitted{id, reduction.committed, reduction.request, reduction.used});
  }
  for (const auto& [slot, record] : reduction.slots) {
    if (record.lost) {
      Send(reduction.coordinator, SlotLost{id, reduction.request, record.attempt, slot,
                                           record.lost->code, record.lost->message});
    }
  }
}

void DirectoryState::State::ResolveOpens(const ObjectId& id, ObjectRecord& record) {
  while (!record.opens.empty()) {
    const PendingOpen open = record.opens.front();
    const auto refuse = [&](ErrorCode code, std::string why) {
      Send(open.node, ReduceRefused{id, open.request, code, std::move(why)});
    };
    if (const auto until = tombstones.Until(id, now)) {
      refuse(ErrorCode::kDeleted,
             fmt::format("object {} was deleted; its id is blocked for another {:.1f} s",
                         id.ToShortString(), ToSeconds(*until - now)));
    } else if (record.reduction) {
      refuse(ErrorCode::kAlreadyExists,
             fmt::format("object {} is already the target of a reduction", id.ToShortString()));
    } else if (record.inline_bytes != nullptr || record.table.live_final_count() > 0) {
      refuse(ErrorCode::kAlreadyExists,
             fmt::format("object {} already exists", id.ToShortString()));
    } else if (record.table.final_count() > 0) {
      return;  // a suspended node may come back with it: wait for the end of its grace
    } else {
      record.reduction = ReductionRecord{.coordinator = open.node, .request = open.request};
      Send(open.node, ReduceOpened{id, open.request, link});
    }
    record.opens.erase(record.opens.begin());
  }
}

void DirectoryState::State::On(NodeId node, const ReduceShape& event) {
  if (collecting) return Later(node, event);
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
  if (collecting) return Later(node, event);
  ReductionRecord* reduction = OpenReduction(node, event.object, event.request);
  if (reduction == nullptr || !reduction->shaped) return;
  ObjectRecord& record = *Find(event.object);
  const std::uint32_t slot = event.order.slot;
  const bool sound = slot > 0 && slot <= kMaxSlots && event.order.parent != slot;
  SlotRecord& known = reduction->slots[slot];
  if (!sound || event.attempt <= known.attempt) return;
  std::vector<std::uint32_t> renewed{slot};
  if (known.version) {
    Send(known.order.node, SlotDropped{event.object, slot, known.version});
    std::ranges::copy(Ancestors(*reduction, slot), std::back_inserter(renewed));
  }
  reduction->children[known.order.parent].erase(slot);
  reduction->children[event.order.parent].insert(slot);
  known = SlotRecord{.order = event.order, .attempt = event.attempt};
  for (const std::uint32_t each : renewed) NewAttempt(event.object, record, each);
  for (const std::uint32_t each : renewed) TellOrder(event.object, *reduction, each);
  for (const std::uint32_t each : renewed) TellFeeds(event.object, *reduction, each);
  if (renewed.size() == 1) TellFeed(event.object, *reduction, slot);
}

// The position starts again, or for the first time; a root's version is the target's.
void DirectoryState::State::NewAttempt(const ObjectId& id, ObjectRecord& record,
                                       std::uint32_t slot) {
  ReductionRecord& reduction = *record.reduction;
  const auto entry = reduction.slots.find(slot);
  if (entry == reduction.slots.end()) return;
  SlotRecord& known = entry->second;
  const bool vacant = known.order.node == kNoNode;
  const bool root = known.order.parent == 0;
  known.drained = false;
  known.marks.clear();
  known.version = vacant ? Version() : stamps.NextVersion();
  if (root)
    StartVersion(id, record, vacant ? stamps.NextVersion() : known.version, reduction.layout,
                 reduction.metadata);
  if (vacant) return;
  if (nodes.Find(known.order.node) == nullptr) {
    return MarkLost(id, reduction, slot, ErrorCode::kPeerLost,
                    nodes.NameOf(known.order.node) + " is no member any more");
  }
  Touch(id, known.order.node);
  if (!root) return;
  record.table.Add(known.order.node);
  record.table.Edit(known.order.node, [&](Copy& copy) {
    copy.listed = copy.primary = copy.producing = true;
    copy.live = nodes.alive(known.order.node);
    copy.order = ++requests;
  });
  Notify(id, record, known.order.node, LocationKind::kPartial);
}

void DirectoryState::State::TellOrder(const ObjectId& id, const ReductionRecord& reduction,
                                      std::uint32_t slot) {
  const auto entry = reduction.slots.find(slot);
  if (entry == reduction.slots.end() || !entry->second.version) return;
  const SlotRecord& known = entry->second;
  Send(known.order.node, SlotAssigned{id, known.version, known.order, reduction.layout,
                                      reduction.fold, reduction.metadata});
}

// What the position is fed by. A child that died after it was drained is needed again now.
void DirectoryState::State::TellFeeds(const ObjectId& id, ReductionRecord& reduction,
                                      std::uint32_t slot) {
  const auto children = reduction.children.find(slot);
  if (children == reduction.children.end()) return;
  for (const std::uint32_t child : children->second) TellFeed(id, reduction, child);
}

void DirectoryState::State::TellFeed(const ObjectId& id, ReductionRecord& reduction,
                                     std::uint32_t child) {
  SlotRecord& fed = reduction.slots.at(child);
  const auto parent = reduction.slots.find(fed.order.parent);
  if (parent == reduction.slots.end() || !parent->second.version || !fed.version) return;
  fed.drained = false;
  const NodeRecord* source = nodes.Find(fed.order.node);
  if (source == nullptr) {
    if (fed.lost) return;
    return MarkLost(id, reduction, child, ErrorCode::kPeerLost,
                    nodes.NameOf(fed.order.node) + " was lost");
  }
  Send(parent->second.order.node,
       SlotFeed{id, fed.order.parent, parent->second.version, child, fed.version, source->info});
}

void DirectoryState::State::MarkLost(const ObjectId& id, ReductionRecord& reduction,
                                     std::uint32_t slot, ErrorCode code, std::string message) {
  SlotRecord& known = reduction.slots.at(slot);
  if (known.lost) return;
  known.drained = false;
  known.lost = SlotFault{code, message};
  Send(reduction.coordinator,
       SlotLost{id, reduction.request, known.attempt, slot, code, std::move(message)});
}

void DirectoryState::State::On(NodeId node, const ReduceClose& event) {
  ObjectRecord* record = Find(event.object);
  if (record == nullptr) return;
  std::erase_if(record->opens, [&](const PendingOpen& open) {
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

// Participants let go; whoever waits for the target, or has a part of it, hears why.
void DirectoryState::State::EndReduction(const ObjectId& id, ObjectRecord& record,
                                         const Error& error, NodeId tell_coordinator) {
  const ReductionRecord ended = *std::exchange(record.reduction, std::nullopt);
  DropSlots(id, ended);
  if (ended.committed) return;
  if (tell_coordinator != kNoNode) {
    Send(tell_coordinator, ReduceRefused{id, ended.request, error.code, error.message});
  }
  std::set<NodeId> told = std::exchange(record.locates, {});
  for (const auto& [node, copy] : record.table.copies()) {
    told.insert(node);
    if (copy.listed) Notify(id, record, node, LocationKind::kGone);
  }
  record.table = CopyTable(record.table.layout());
  record.evictions.clear();
  for (const NodeId node : told) Send(node, TargetAborted{id, error.code, error.message});
}

void DirectoryState::State::DropSlots(const ObjectId& id, const ReductionRecord& reduction) {
  for (const auto& [slot, record] : reduction.slots) {
    if (record.version) Send(record.order.node, SlotDropped{id, slot, record.version});
  }
}

// --- participants

SlotRecord* DirectoryState::State::Executes(NodeId node, const ObjectId& id, std::uint32_t slot,
                                            Version version) {
  ObjectRecord* record = Find(id);
  if (record == nullptr || !record->reduction) return nullptr;
  const auto entry = record->reduction->slots.find(slot);
  if (entry == record->reduction->slots.end()) return nullptr;
  SlotRecord& known = entry->second;
  return known.version == version && known.order.node == node ? &known : nullptr;
}

// The child that a participant speaks of; null if either attempt is an old one.
SlotRecord* DirectoryState::State::InputOf(NodeId node, const ObjectId& id, std::uint32_t slot,
                                           Version version, std::uint32_t input,
                                           Version input_version) {
  if (Executes(node, id, slot, version) == nullptr) return nullptr;
  auto& slots = Find(id)->reduction->slots;
  const auto entry = slots.find(input);
  if (entry == slots.end() || entry->second.order.parent != slot) return nullptr;
  return entry->second.version == input_version ? &entry->second : nullptr;
}

void DirectoryState::State::On(NodeId node, const SlotFailed& event) {
  const bool itself = event.input == 0;
  const SlotRecord* failed = itself ? Executes(node, event.object, event.slot, event.version)
                                    : InputOf(node, event.object, event.slot, event.version,
                                              event.input, event.input_version);
  if (failed == nullptr) return;
  MarkLost(event.object, *Find(event.object)->reduction, failed->order.slot, event.code,
           event.message);
}

void DirectoryState::State::On(NodeId node, const SlotDrained& event) {
  SlotRecord* input =
      InputOf(node, event.object, event.slot, event.version, event.input, event.input_version);
  if (input != nullptr) input->drained = true;
}

void DirectoryState::State::On(NodeId node, const SlotProgress& event) {
  NoteRate(node, event.bytes_per_second);
  SlotRecord* known = Executes(node, event.object, event.slot, event.version);
  if (known == nullptr) {
    if (collecting) return;
    return Send(node, SlotDropped{event.object, event.slot, event.version});
  }
  ObjectRecord& record = *Find(event.object);
  if (record.reduction->layout.valid(event.marks)) known->marks = event.marks;
  if (known->order.parent != 0 || record.table.Find(node) == nullptr) return;
  record.table.Edit(node, [](Copy& copy) { copy.live = true; });
  record.table.RaiseMarks(node, event.marks);
}

void DirectoryState::State::On(NodeId node, const ReduceCommit& event) {
  ObjectRecord* record = Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  if (!record->reduction || record->reduction->committed) {
    // Repeated: its answer was lost with a session.
    const Copy* copy = record->table.Find(node);
    if (copy != nullptr && copy->complete) {
      Send(node, ReduceCommitted{event.object, event.version, 0, {}});
    }
    return;
  }
  ReductionRecord& reduction = *record->reduction;
  const auto root = std::ranges::find_if(reduction.slots, [&](const auto& slot) {
    return slot.second.order.parent == 0 && slot.second.version == event.version &&
           slot.second.order.node == node;
  });
  if (root == reduction.slots.end()) return;
  reduction.committed = event.version;
  reduction.used = InputsOf(reduction);
  On(node, CopyComplete{event.object, event.version});
  const ReduceCommitted committed{event.object, event.version, reduction.request, reduction.used};
  Send(node, committed);
  if (reduction.coordinator != node) Send(reduction.coordinator, committed);
  DropSlots(event.object, reduction);
  reduction.slots.clear();
  reduction.children.clear();
}

// --- members

void DirectoryState::State::LoseFromReduction(const ObjectId& id, ObjectRecord& record,
                                              NodeId node) {
  std::erase_if(record.opens, [&](const PendingOpen& open) { return open.node == node; });
  if (!record.reduction) return;
  ReductionRecord& reduction = *record.reduction;
  if (reduction.coordinator == node) {
    return EndReduction(
        id, record,
        Error(ErrorCode::kPeerLost,
              fmt::format("the reduction into {} ended: its coordinator {} was lost",
                          id.ToShortString(), nodes.NameOf(node))),
        kNoNode);
  }
  for (const auto& [slot, known] : reduction.slots) {
    if (known.order.node != node || !known.version || known.drained) continue;
    MarkLost(id, reduction, slot, ErrorCode::kPeerLost, nodes.NameOf(node) + " was lost");
  }
}

// After an interrupted session: orders that it may have missed; it knows the versions.
void DirectoryState::State::RepeatOrders(const ObjectId& id, ReductionRecord& reduction,
                                         NodeId node) {
  for (const auto& [slot, known] : reduction.slots) {
    if (known.order.node != node || !known.version) continue;
    TellOrder(id, reduction, slot);
    const auto children = reduction.children.find(slot);
    if (children == reduction.children.end()) continue;
    for (const std::uint32_t child : children->second) {
      if (!reduction.slots.at(child).drained) TellFeed(id, reduction, child);
    }
  }
}

}  // namespace hoplite::planner
