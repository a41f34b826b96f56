#include "planner/recovery.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace hoplite::planner {
namespace {

void CloseFeeds(CopyTable& table, NodeId node) {
  const Copy copy = *table.Find(node);
  for (const Feed& feed : copy.flow().feeds) {
    if (feed.lost()) continue;
    table.Close(feed.grant);
    table.Edit(node, [](Copy& receiver) { receiver.wanted = 0; });
  }
}

}  // namespace

void Recovery::On(NodeId node, const Held& event) {
  marks_.EraseIfOlder(event.object, event.version);
  if (post_.AnswerDeleted(event.object, node)) return;
  if (!Sound(event)) return;
  stamps_.NoteSeen(event.version.incarnation);
  ObjectRecord& record = objects_.Touch(event.object, node);
  if (event.version < record.version) {
    return post_.Send(node, Recall{event.object, record.version});
  }
  ownership_.Copied(node, event.object, event.ever_owned);
  if (event.version > record.version) StartNewer(record, node, event);
  if (record.table.layout() == event.layout) Vouch(record, node, event);
}

bool Recovery::Sound(const Held& event) const {
  return event.layout.Validate() && event.layout.valid(event.marks) &&
         event.metadata.size() <= options_.metadata_limit_bytes && event.version;
}

void Recovery::StartNewer(ObjectRecord& record, NodeId node, const Held& event) {
  // Of another shard that was here before, or a lie: what is newer than a root's can't be undone.
  if (record.open_reduction() && record.reduction->tree.HasRootVersion()) {
    reductions_.End(event.object, record,
                    Error(ErrorCode::kAlreadyExists,
                          fmt::format("object {} already exists: {} holds a newer version",
                                      event.object.ToHex(), nodes_.NameOf(node))),
                    record.reduction->coordinator);
  }
  versions_.Start(event.object, record, event.version, event.layout, event.metadata, kNoNode);
  record.gathers_until = Time{};  // a predecessor made the first pass over it
}

void Recovery::Vouch(ObjectRecord& record, NodeId node, const Held& event) {
  CopyTable& table = record.table;
  const bool was_final = table.Add(node).final();
  const bool was_listed = table.Find(node)->listed;
  table.Edit(node, [&](Copy& copy) {
    copy.live = true;
    copy.wanted &= copy.fed();  // its Want, if any, is repeated after this
    copy.ForgetOrphaned();
    copy.ForgetLost();
    copy.complete = event.complete;
    copy.produces = event.producing && !event.complete ? table.layout().all_stripes() : 0;
    copy.primary = copy.primary || event.primary;
    copy.listed = copy.listed || copy.complete || copy.produces != 0 || event.upstream != kNoNode;
    copy.leaf = false;
    copy.marks = event.complete ? table.layout().full_marks() : event.marks;
    if (copy.order == 0) copy.order = stamps_.NextRequest();
    if (!copy.final()) return;
    copy.wanted = 0;
    copy.done = copy.complete ? table.layout().all_stripes() : 0;
  });
  // A node takes back that it has all, which honest ones never do: who feeds it is found out anew.
  if (was_final && !table.Find(node)->final()) CloseFeeds(table, node);
  // A predecessor saw it made.
  for (std::size_t group = 0; event.primary && group < table.group_count(); ++group) {
    if (table.origin(group) == kNoNode) table.SetOrigin(group, node);
  }
  AdoptUpstream(record, node, event.upstream);
  const Copy& copy = *table.Find(node);
  if (table.whole() && record.waits) record.waits->lost_holder.clear();
  if (copy.listed && (!was_listed || was_final != copy.final())) {
    post_.Notify(event.object, record, node,
                 copy.complete ? LocationKind::kComplete : LocationKind::kPartial);
  }
}

void Recovery::On(NodeId node, const HeldBytes& event) {
  ObjectRecord* record = objects_.Find(event.object);
  if (record == nullptr || record->version != event.version || record->inline_bytes) return;
  const Copy* copy = record->table.Find(node);
  const bool all = copy != nullptr && copy->live && copy->complete &&
                   event.bytes->size() == record->table.layout().size_bytes;
  if (!all) return;
  if (!versions_.KeepBytes(*record, event.bytes)) return post_.Send(node, InlineFull{event.object});
  post_.Notify(event.object, *record, kNoNode, LocationKind::kInline);
}

void Recovery::AdoptUpstream(ObjectRecord& record, NodeId node, NodeId upstream) {
  CopyTable& table = record.table;
  const Copy copy = *table.Find(node);
  bool feeds_us = false;
  for (const Feed& feed : copy.flow().feeds) feeds_us |= !feed.lost() && feed.source == upstream;
  if (feeds_us && !copy.final()) return;
  // The node knows nothing of these grants, or has ended them: the messages were lost.
  CloseFeeds(table, node);
  if (copy.final() || upstream == kNoNode || upstream == node) return;
  const StripeMask stripes = table.Missing(copy.marks, table.layout().all_stripes());
  // What two nodes say contradicts each other: this one's Want brings it another source.
  if (!copy.flow().serving.empty() && table.DependsOn(upstream, node, stripes)) return;
  table.Edit(node, [&](Copy& receiver) { receiver.wanted |= stripes; });
  const Copy* source = table.Find(upstream);
  std::uint32_t used = 0;
  for (std::size_t group = 0; source != nullptr && group < table.group_count(); ++group) {
    used = std::max(used, source->place(group).used);
  }
  table.Open(stamps_.NextGrant(), {node, upstream, stripes, true}, clock_.now(),
             Count(stripes) + used);
}

void Recovery::On(NodeId node, const InventoryEnd& /*event*/) {
  nodes_.EndInventory(node);
  sweeps_.Add(node, Change::kInventoryOver, objects_.TakeSpokenOf(node));
}

}  // namespace hoplite::planner
