#include "planner/shard/recovery.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "protocol/elements.h"

namespace hoplite::planner {
namespace {

// Whether the node names just this grant, with just these stripes. A node that was to be moved may
// name the grant before, of the same source; of a grant that waits for another stream it names the
// stripes that the other does not bring. The books' grant would then outlive what the node knows of.
bool Names(const std::vector<Upstream>& upstreams, const GrantId& id, const OpenGrant& grant) {
  const GrantId& known_as = grant.adopted ? grant.known_as : id;
  const Upstream kept{grant.source, known_as, grant.stripes};
  return std::ranges::find(upstreams, kept) != upstreams.end();
}

// All that its node does not name.
void CloseFeeds(CopyTable& table, NodeId node, const std::vector<Upstream>& upstreams = {}) {
  const Copy copy = *table.Find(node);
  for (const Feed& feed : copy.flow().feeds) {
    if (feed.lost() || Names(upstreams, feed.grant, table.grants().at(feed.grant))) continue;
    table.Close(feed.grant);
    table.Edit(node, [&](Copy& receiver) { receiver.wanted &= ~feed.stripes; });
  }
}

}  // namespace

void Recovery::On(NodeId node, const Held& event) {
  tombstones_.EraseIfOlder(event.object, event.version);
  if (post_.AnswerDeleted(event.object, node)) return;
  if (!event.complete && post_.AnswerFailed(event.object, node, event.version)) return;
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
         protocol::UsersPart(event.metadata).size() <= options_.metadata_limit_bytes &&
         event.version && (event.produces & ~event.layout.all_stripes()) == 0;
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
    copy.given = false;         // that may have been lost with the session
    copy.wanted &= copy.fed();  // its Want, if any, is repeated after this
    copy.ForgetOrphaned();
    copy.ForgetLost();
    copy.complete = event.complete;
    copy.produces = event.complete ? 0 : event.produces;
    copy.primary = copy.primary || event.primary;
    copy.listed = copy.listed || copy.complete || copy.produces != 0 || !event.upstreams.empty();
    copy.leaf = false;
    copy.on_disk = event.on_disk;
    copy.marks = event.complete ? table.layout().full_marks() : event.marks;
    copy.has_all = table.layout().complete(copy.marks);
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
  AdoptUpstreams(record, node, event.upstreams);
  const Copy& copy = *table.Find(node);
  if (table.whole() && record.waits) record.waits->loss = {};
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

void Recovery::AdoptUpstreams(ObjectRecord& record, NodeId node,
                              const std::vector<Upstream>& upstreams) {
  CopyTable& table = record.table;
  const Copy& copy = *table.Find(node);
  // The node knows nothing of the other grants, or has ended them: the messages were lost.
  CloseFeeds(table, node, copy.final() ? std::vector<Upstream>() : upstreams);
  if (copy.final() || upstreams.empty()) return;
  const StripeMask from_others = table.layout().all_stripes() & ~copy.produces;
  const StripeMask missing = table.Missing(copy.marks, from_others);
  StripeMask named = 0;
  for (const Upstream& from : upstreams) {
    named |= from.stripes;
    // A stripe whose bytes are all here, too: until the stream ends its source is that of the stripe.
    const StripeMask stripes = from.stripes & from_others & ~copy.fed();
    if (stripes == 0 || Adopt(table, node, from, stripes)) continue;
    named &= ~stripes;
    table.NoteStray(node, from.node, from.grant, stripes);
  }
  // It does not say Want while something comes: what nobody brings yet is wanted, too.
  table.Edit(node, [&](Copy& receiver) { receiver.wanted |= missing & ~named; });
}

bool Recovery::Adopt(CopyTable& table, NodeId node, const Upstream& from, StripeMask stripes) {
  if (from.node == node || from.node == kNoNode) return false;
  // A circle: this one was sent elsewhere, which it did not hear, and the other then here.
  const bool serves = !table.Find(node)->flow().serving.empty();
  if (serves && table.DependsOn(from.node, node, stripes)) return false;
  table.Edit(node, [&](Copy& receiver) { receiver.wanted |= stripes; });
  const Copy* source = table.Find(from.node);
  std::uint32_t used = 0;
  for (std::size_t group = 0; source != nullptr && group < table.group_count(); ++group) {
    used = std::max(used, table.LoadIn(group, *source));
  }
  const OpenGrant what{.receiver = node,
                       .source = from.node,
                       .stripes = stripes,
                       .adopted = true,
                       .known_as = from.grant};
  table.Open(stamps_.NextGrant(), what, clock_.now(), Count(stripes) + used);
  return true;
}

void Recovery::On(NodeId node, const InventoryEnd& /*event*/) {
  nodes_.EndInventory(node);
  registers_.EndInventory(node);
  sweeps_.Add(node, Change::kInventoryOver, objects_.TakeSpokenOf(node));
}

}  // namespace hoplite::planner
