#include "node/shard/shard_words.h"

#include <utility>

#include "base/log.h"
#include "directory/away.h"
#include "node/owners/owners.h"
#include "node/pull/flight.h"
#include "node/pull/take_copy.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/registers/registers.h"

namespace hoplite::node {

void ShardWords::OnAction(const protocol::NodeAction& action) {
  std::visit([this](const auto& said) { On(said); }, action);
}

void ShardWords::On(const protocol::CreateAccepted& accepted) {
  const EntryPtr entry = context_.table.Find(accepted.object);
  const auto publication = entry ? entry->publication() : nullptr;
  if (entry && entry->withdrawal().open()) return;  // the shard takes it back
  context_.owners.OnPutAnswered(accepted.object, true);
  if (accepted.ever_owned) NoteEverOwned(accepted.object);
  if (publication) {
    publication->Accept(accepted.version);
  } else {
    context_.directory.Send(
        protocol::CopyGone{accepted.object, accepted.version, protocol::GoneReason::kAborted});
  }
}

void ShardWords::On(const protocol::CreateRefused& refused) {
  const EntryPtr entry = context_.table.Find(refused.object);
  if (entry && entry->withdrawal().open()) {
    if (!entry->withdrawal().Ends(refused)) return;
    context_.owners.OnPutAnswered(refused.object, false);
    return entry->Changed();
  }
  context_.owners.OnPutAnswered(refused.object, false);
  const auto publication = entry ? entry->publication() : nullptr;
  if (publication) publication->Refuse(Error(refused.code, refused.message));
}

void ShardWords::On(const protocol::Located& located) {
  const EntryPtr entry = context_.table.Find(located.object);
  if (entry) entry->SetLoss({});
  if (located.ever_owned) NoteEverOwned(located.object);
  if (entry && entry->flight()) return entry->flight()->OnLocated(located);
  // Whoever asked has gone, and what it wanted with it: the shard would go on granting it sources,
  // and send others here (R63).
  if (located.wanted != 0) {
    context_.directory.Send(protocol::CancelWant{located.object, located.version});
  }
}

void ShardWords::On(const protocol::InlineObject& object) {
  gives_.HandOn(object);
  const EntryPtr entry = context_.table.Find(object.object);
  if (entry && entry->flight()) entry->flight()->OnInline(object);
}

void ShardWords::On(const protocol::Grant& grant) {
  const EntryPtr entry = context_.table.Find(grant.object);
  if (entry && entry->flight()) {
    entry->flight()->OnGrant(grant);
  } else {
    context_.directory.Send(protocol::GrantClosed{grant.object, grant.version, grant.grant,
                                                  protocol::Outcome::kAbandoned,
                                                  protocol::Failure::kNone, StripeMarks()});
  }
}

void ShardWords::On(const protocol::Recall& recall) {
  const EntryPtr entry = context_.table.At(recall.object);
  DropCopies(
      *entry, recall.version, store::VoidReason::kRecalled,
      Error(ErrorCode::kRecalled, "object " + recall.object.ToHex() + " was put anew elsewhere"));
  if (entry->flight()) entry->flight()->OnRecall(recall.version);
}

void ShardWords::On(const protocol::Deleted& deleted) {
  const EntryPtr entry = context_.table.At(deleted.object);
  entry->deletion().Confirm(Now() + deleted.remaining, deleted.version);
  entry->set_ever_owned(false);
  context_.owners.OnDeleted(deleted.object);
  DropCopies(*entry, kAllVersions, store::VoidReason::kDeleted,
             Error(ErrorCode::kDeleted, "object " + deleted.object.ToHex() + " was deleted"));
  if (entry->flight()) entry->flight()->OnDeleted();
  entry->followers().TellDeleted();
  entry->Changed();
}

// Complete copies and Puts of versions below `below`; copies of a flight are the flight's to drop.
void ShardWords::DropCopies(ObjectEntry& entry, Version below, store::VoidReason reason,
                            const Error& error) {
  if (const auto publication = entry.publication()) {
    if (reason == store::VoidReason::kDeleted) {
      publication->Refuse(error, reason);
    } else {
      publication->Recall(below, error, reason);
    }
  }
  const store::CopyPtr copy = context_.store.Find(entry.object);
  if (copy && copy->version() < below && !(entry.flight() && entry.flight()->copy() == copy)) {
    context_.store.Remove(entry.object);
    copy->Void(reason);
  }
}

void ShardWords::On(const protocol::EvictAnswer& answer) {
  context_.memory.OnEvictAnswer(answer);
  drainage_.OnAnswer(answer);
}

void ShardWords::On(const protocol::Location& location) {
  const EntryPtr entry = context_.table.Find(location.object);
  if (!entry) return;
  const bool whole = location.kind == protocol::LocationKind::kComplete ||
                     location.kind == protocol::LocationKind::kInline;
  if (whole) entry->SetLoss({});
  entry->followers().Tell(location);
}

void ShardWords::On(const protocol::HolderLost& lost) {
  const EntryPtr entry = context_.table.Find(lost.object);
  if (!entry) return;
  entry->SetLoss(lost.loss);
  entry->followers().TellLost();
  if (entry->flight()) entry->flight()->OnHolderLost();
}

// Its session has stopped to offer more by now.
void ShardWords::On(const protocol::InlineFull& /*full*/) {}

void ShardWords::On(const protocol::TakeCopy& word) {
  if (context_.table.stopped() || drainage_.begun()) return;
  context_.runtime.Spawn(context_.runtime.main(), "copy for others",
                         TakeCopy(context_, data_plane_, context_.table.At(word.object)));
}

void ShardWords::On(const protocol::GiveCopy& word) { gives_.GiveCopy(word); }

void ShardWords::On(const protocol::OwnerAnswer& answer) { context_.owners.Hear(answer); }

void ShardWords::On(const protocol::RegisterNews& news) { context_.registers.Hear(news); }

void ShardWords::On(const protocol::EverOwned& owned) { NoteEverOwned(owned.object); }

void ShardWords::On(const protocol::Unowned& unowned) {
  const EntryPtr entry = context_.table.Find(unowned.object);
  if (!entry) return;
  entry->expectations().Disappoint(unowned.number);
  entry->followers().TellUnowned(entry->expectations());
  entry->Changed();
}

// Of the copy that is here, and of those that the object's flight, Put or slot is about to list.
void ShardWords::NoteEverOwned(const ObjectId& object) {
  const store::CopyPtr copy = context_.store.Find(object);
  if (copy) copy->set_ever_owned(true);
  if (const EntryPtr entry = context_.table.Find(object)) entry->set_ever_owned(true);
}

void ShardWords::OnSession(std::size_t shard, bool open) {
  log::Info("{}: {}", context_.settings.name,
            open ? fmt::format("directory shard {} is joined", shard) : directory::Away(shard));
  context_.Note(Decided::kSession, ObjectId(),
                fmt::format("shard {} {}", shard, open ? "joined" : "away"));
  // What was asked of the lost session, or while there was none, will not be answered.
  if (!open) ++context_.counters.sessions_ended;
  if (!open) context_.owners.OnSessionEnd(shard);
  if (!open) context_.registers.OnSession(shard, false);
  context_.memory.ForgetQuestions();
  context_.memory.OnSpace();
  for (const auto& [object, entry] : context_.table.entries()) {
    if (!open && context_.ShardOf(object) == shard) entry->followers().Forget();
  }
}

void ShardWords::OnOutlived(std::size_t shard) {
  for (const store::CopyPtr& copy : context_.store.List()) {
    if (context_.ShardOf(copy->object()) != shard) continue;
    const EntryPtr entry = context_.table.At(copy->object());
    DropCopies(*entry, kAllVersions, store::VoidReason::kLost,
               Error(ErrorCode::kPeerLost, "the directory had lost this node for too long"));
    if (entry->flight()) entry->flight()->OnRecall(kAllVersions);
    context_.store.Remove(copy->object());  // now: the inventory is asked next
  }
  for (const auto& [object, entry] : context_.table.entries()) {
    if (entry->coordinator() && context_.ShardOf(object) == shard) entry->coordinator()->Outlive();
  }
}

void ShardWords::OnLost(std::size_t shard) {
  for (const auto& [object, entry] : context_.table.entries()) {
    if (entry->flight() && context_.ShardOf(object) == shard) entry->flight()->OnLost();
  }
}

}  // namespace hoplite::node
