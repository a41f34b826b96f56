#include "planner/shard/transfers.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "planner/copies/broadcast_cost.h"
#include "planner/copies/link_learning.h"

namespace hoplite::planner {
namespace {

// As long as a source holds a FETCH that it is not ahead of (R7).
constexpr Duration kHeld = std::chrono::milliseconds(100);

// Whoever waits for a source.
std::set<NodeId> Parked(const CopyTable& table) {
  std::set<NodeId> parked;
  for (std::size_t group = 0; group < table.group_count(); ++group) {
    for (const ParkedKey& key : table.parked(group)) parked.insert(key.node);
  }
  return parked;
}

}  // namespace

ObjectRecord* Transfers::Current(NodeId node, const ObjectId& id, Version version) {
  if (post_.AnswerDeleted(id, node)) return nullptr;
  ObjectRecord* record = objects_.Find(id);
  if (record == nullptr || version > record->version) return nullptr;
  if (version == record->version) return record;
  post_.Send(node, Recall{id, record->version});
  return nullptr;
}

void Transfers::On(NodeId node, const Want& event) {
  if (post_.AnswerFailed(event.object, node, event.version)) return;
  const ObjectRecord* known = objects_.Find(event.object);
  if (known == nullptr || event.version > known->version) {
    if (window_.collecting()) return window_.Defer(node, event);
    if (post_.AnswerDeleted(event.object, node)) return;
    // Nobody here has that version any more: the one after it, whichever that will be, makes it
    // void.
    Version next = event.version;
    ++next.sequence;
    return post_.Send(node, Recall{event.object, next});
  }
  if (Current(node, event.object, event.version) == nullptr) return;
  ObjectRecord& record = objects_.Touch(event.object, node);
  ownership_.Wanted(node, event.object);
  // It has had an answer: to an older question, if this one still waits.
  if (record.waits) record.waits->ForgetQuestion(node);
  if (event.joint) record.Join();
  Park(record, node, event.marks, event.leaf);
  const Loss& loss = record.waiting().loss;
  if (!record.exists() && !loss.empty()) post_.Send(node, HolderLost{event.object, loss});
}

bool Transfers::Wants(ObjectRecord& record, NodeId node, bool joint) {
  if (record.table.Find(node) != nullptr) return false;
  if (joint) record.Join();
  Park(record, node, record.table.layout().empty_marks(), false);
  return true;
}

void Transfers::Park(ObjectRecord& record, NodeId node, const StripeMarks& marks, bool leaf) {
  CopyTable& table = record.table;
  const bool known_copy = table.Find(node) != nullptr;
  if (table.Add(node).final()) return;
  const Layout& layout = table.layout();
  table.Edit(node, [&](Copy& copy) {
    copy.live = true;
    copy.given = false;
    if (!known_copy) copy.leaf = leaf;
    if (!known_copy && record.reduction) copy.slot = record.reduction->tree.SlotOf(node);
    if (layout.valid(marks) && copy.fed() == 0) copy.marks = marks;
    if (copy.wanted == 0) copy.order = stamps_.NextRequest();
    copy.wanted = table.Missing(copy.marks, layout.all_stripes() & ~copy.produces) | copy.fed();
    copy.done = layout.all_stripes() & ~copy.wanted;
  });
}

void Transfers::On(NodeId node, const CancelWant& event) {
  window_.ForgetWants(node, event.object);
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  const Copy* copy = record->table.Find(node);
  if (copy == nullptr || copy->final()) return;
  if (copy->produces == 0) return versions_.DropCopy(event.object, *record, node);
  // It makes a part of the object: that is there until its node says that it is gone.
  record->table.Edit(node, [](Copy& made) { made.wanted &= made.fed(); });
}

void Transfers::On(NodeId node, const GrantClosed& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  CopyTable& table = record->table;
  const Copy* copy = table.Find(node);
  if (copy == nullptr) return;
  table.RaiseMarks(node, event.marks);
  if (event.outcome == Outcome::kDeclined && !copy->final()) {
    return versions_.DropCopy(event.object, *record, node);
  }
  GrantId id = event.grant;
  if (!table.grants().contains(id)) id = table.AdoptedBy(node, event.grant);
  const auto open = table.grants().find(id);
  if (open == table.grants().end() || open->second.receiver != node) {
    // A grant that was taken back before: its stripes are parked or granted again already. A
    // predecessor's grant goes by another id here.
    if (record->slow_relays) record->slow_relays->Closed(event.grant);
    if (event.failure == Failure::kUnreachable) KeepFrom(node, event.source, event.failure);
    return table.Edit(node, [&](Copy& receiver) { receiver.StreamEnded(event.grant); });
  }
  const OpenGrant grant = open->second;
  table.Close(id);
  if (event.outcome == Outcome::kFailed) return OnFailed(*record, node, grant, event);
  if (event.outcome == Outcome::kDone) pairs_.Forget(node, grant.source);
  table.Edit(node, [&](Copy& receiver) {
    if (event.outcome == Outcome::kDone) receiver.done |= grant.stripes;
    receiver.wanted &= ~grant.stripes;
  });
}

void Transfers::OnFailed(ObjectRecord& record, NodeId node, const OpenGrant& grant,
                         const GrantClosed& event) {
  CopyTable& table = record.table;
  table.Edit(node, [&](Copy& receiver) {
    const StripeMask missing = table.Missing(receiver.marks, grant.stripes);
    receiver.done |= grant.stripes & ~missing;
    if (!receiver.final()) receiver.wanted |= missing;
  });
  const bool not_ahead = event.failure == Failure::kNotAhead;
  // A source that gets bytes is only late: whoever stands behind it waits, and takes nobody's place.
  const Copy* source = table.Find(grant.source);
  const bool waits = not_ahead && source != nullptr &&
                     (grant.stripes & ~(source->fed() | source->produces | source->done)) == 0;
  if (!waits && !table.Find(node)->final()) table.NoteFailed(grant);
  if (not_ahead) {
    table.LowerMarks(grant.source, event.marks, grant);
    if (!grant.leaf) table.NoteLate(grant, kHeld);  // a leaf was not sent there by lag
    table.Edit(node, [&](Copy& receiver) {
      table.ForGroups(grant.stripes, [&](std::size_t group, StripeMask) {
        receiver.flows.Make().places.Make(group).waits_from = clock_.now() + options_.keep_apart;
      });
    });
  } else {
    KeepFrom(node, grant.source, event.failure);
    table.Edit(node, [](Copy& receiver) { receiver.helped = false; });
  }
  const bool bytes_came = event.failure == Failure::kBroken || event.failure == Failure::kStalled ||
                          event.failure == Failure::kCorrupt;
  if (bytes_came) table.RaiseFrom(grant.source, table.Find(node)->marks, grant.stripes);
  // What the directory has depends on nobody's link to a holder: a receiver that can't reach the
  // only one would wait for it (R15).
  if (record.inline_bytes != nullptr && !not_ahead) GiveBytes(event.object, record, node);
}

// One that has no session any more is not out of this receiver's reach, but gone.
void Transfers::KeepFrom(NodeId receiver, NodeId source, Failure how) {
  const Time now = clock_.now();
  const bool blocked = how == Failure::kUnreachable && nodes_.alive(source);
  const Time until = blocked ? pairs_.Note(receiver, source, {}, options_.keep_apart, now)
                             : now + options_.keep_apart;
  apart_.Insert({receiver, source}, until);
}

void Transfers::On(NodeId node, const CopyComplete& event) {
  ObjectRecord* record = Current(node, event.object, event.version);
  if (record == nullptr) return;
  CopyTable& table = record->table;
  const Copy* known = table.Find(node);
  if (known != nullptr && known->complete) return;
  // A fact about the copy, whatever became of the grant that fed it: as an answer to an old grant
  // the only complete copy would go unnoticed (R5).
  objects_.Touch(event.object, node);
  table.Add(node);
  table.Edit(node, [&](Copy& copy) {
    copy.complete = copy.listed = true;
    copy.starved = copy.leaf = false;
    copy.produces = 0;
    copy.ForgetOrphaned();
    copy.ForgetLost();
    copy.marks = table.layout().full_marks();
    copy.done = table.layout().all_stripes();
    copy.wanted = 0;
    if (copy.order == 0) copy.order = stamps_.NextRequest();
  });
  if (record->waits) record->waits->loss = {};
  post_.Notify(event.object, *record, node, LocationKind::kComplete);
}

void Transfers::On(NodeId node, const CopyGone& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record != nullptr && record->version == event.version)
    versions_.DropCopy(event.object, *record, node);
}

void Transfers::On(NodeId node, const CopyMoved& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  if (record->table.Find(node) == nullptr) return;
  record->table.Edit(node, [&](Copy& copy) { copy.on_disk = event.on_disk; });
}

// It is told once: it has them, unless it is not ready for the object any more; then it says so, or
// wants it again.
void Transfers::GiveBytes(const ObjectId& id, ObjectRecord& record, NodeId node) {
  const Copy& copy = *record.table.Find(node);
  if (copy.given || copy.parked() == 0 || copy.produces != 0) return;
  record.table.Edit(node, [](Copy& receiver) { receiver.given = true; });
  inline_pace_.Left(record.inline_bytes->size(), clock_.now(), nodes_.link());
  post_.Send(node,
             InlineObject{id, record.version, record.metadata.OrEmpty(), record.inline_bytes});
}

// They were sent to a holder before this shard, which had restarted, was told the bytes; and the
// holder went (R15).
void Transfers::HelpVainWants(const ObjectId& id, ObjectRecord& record) {
  if (record.inline_bytes == nullptr || record.table.sources_whole()) return;
  for (const NodeId node : Parked(record.table)) GiveBytes(id, record, node);
}

void Transfers::HelpBlocked(const ObjectId& id, ObjectRecord& record) {
  if (pairs_.empty() || !record.table.somebody_parked()) return;
  const auto fit = [&](NodeId node) { return record.table.Find(node) == nullptr; };
  for (const NodeId node : Parked(record.table)) {
    // Two thirds that can't reach the holder would help each other for ever.
    if (record.table.Find(node)->helped || pairs_.IsThird(record.version, node, clock_.now()))
      continue;
    const NodeId holder = HolderOutOfReach(record, node);
    if (holder == kNoNode || HasSource(record, node)) continue;
    const NodeId third = pairs_.ThirdFor(node, holder, nodes_, clock_.now(), fit);
    if (third == kNoNode) continue;
    record.table.Edit(node, [](Copy& receiver) { receiver.helped = true; });
    pairs_.NoteThird(record.version, third, clock_.now());
    post_.Send(third, TakeCopy{id, record.version});
  }
}

NodeId Transfers::HolderOutOfReach(const ObjectRecord& record, NodeId receiver) const {
  for (const NodeId source : pairs_.From(receiver, clock_.now())) {
    const Copy* copy = record.table.Find(source);
    if (copy != nullptr && copy->live && (copy->complete || copy->produces != 0)) return source;
  }
  return kNoNode;
}

// That has all, or gets more, and not from the receiver, so that it can give it something sooner or
// later.
bool Transfers::HasSource(const ObjectRecord& record, NodeId receiver) const {
  const CopyTable& table = record.table;
  return std::ranges::any_of(table.copies(), [&](const auto& at) {
    const auto& [node, copy] = at;
    const StripeMask fed = copy.fed();
    const bool gets_more = fed != 0 && table.DependsOn(node, receiver, fed) != fed;
    const bool gives = copy.live && !copy.leaf && (copy.final() || gets_more);
    return gives && node != receiver && !apart_.Contains({receiver, node}, clock_.now());
  });
}

void Transfers::On(NodeId node, const Progress& event) {
  nodes_.NoteLink(node, event.bytes_per_second, event.round_trip, clock_.now());
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version) return;
  if (record->table.Find(node) == nullptr) return;
  record->table.RaiseMarks(node, event.marks);
  record->table.Edit(
      node, [&](Copy& copy) { copy.starved = event.starved_for >= options_.starved_after; });
  // A leaf is as fast as its reader, and holds nobody up. The links of who folds carry both.
  const Copy& copy = *record->table.Find(node);
  if (copy.leaf || copy.slot != 0) return;
  if (!record->samples.Make().Note(node, record->table, event.at, clock_.now())) return;
  const auto in_all = static_cast<double>(event.bytes_per_second);
  const LinkLearning learning(record->table, *record->samples, record->joint);
  const double carries = learning.Learn(node, in_all, clock_.now(), nodes_);
  if (options_.without.relays) return;
  const bool tries = !options_.without.rates && !record->joint && !record->reduction;
  if (tries) {
    record->slow_relays.Make().JudgeTwo(node, record->table, *record->samples, clock_.now());
  }
  if (carries == 0) return;
  // Its place may be a newcomer's, which it waits for.
  const bool settled = clock_.now() - record->table.Find(node)->place(0).granted >= kLongestFresh;
  if (record->joint && !settled) return;
  const bool alone = carries < kAlike * record->samples->RateOf(node, record->table).most;
  record->slow_relays.Make().Judge(node, carries, tries && alone, record->table, nodes_,
                                   clock_.now());
}

}  // namespace hoplite::planner
