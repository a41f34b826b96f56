#include "node/core.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/try.h"
#include "directory/away.h"
#include "node/local/joint_gets.h"
#include "node/pull/flight.h"
#include "node/pull/subscription.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"

namespace hoplite::node {

Result<void> Core::Usable(const ObjectEntry& entry) const {
  if (stopped_) return std::unexpected(*stopped_);
  const Time now = Now();
  if (!entry.deleted(now)) return {};
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(entry.deleted_until - now);
  return std::unexpected(Error(ErrorCode::kDeleted, "object " + entry.object.ToHex() +
                                                        " was deleted; its id is blocked for " +
                                                        std::to_string(left.count() + 1) +
                                                        " s more"));
}

// Why a wait ended without a result: the caller's own doing, with what was still missing.
Error Core::WhyEnded(const ObjectEntry& entry, const Call& call) const {
  const std::string name = "object " + entry.object.ToHex();
  if (call.cancelled) return {ErrorCode::kCancelled, "waiting for " + name + " was cancelled"};
  std::string why = entry.flight ? entry.flight->Waiting() : "it is not sealed";
  const std::size_t shard = ShardOf(entry.object);
  if (!context_.directory.connected(shard)) {
    why += "; " + WhyAway(shard);
  }
  if (!entry.lost_holder.empty()) {
    why += "; its last copy, on " + entry.lost_holder + ", was lost: a new put of it would help";
  }
  return {ErrorCode::kTimeout, name + " is not complete at the deadline: " + why};
}

std::string Core::WhyAway(std::size_t shard) const {
  const std::optional<Error> refusal = context_.directory.refusal(shard);
  if (!refusal) return directory::Away(shard);
  return fmt::format("this node waits for directory shard {}, which refuses it: {}", shard,
                     refusal->message);
}

// --- operations

// A local Put or the root of a reduction makes it here: nothing is to be fetched.
bool Core::MadeHere(const ObjectEntry& entry) const {
  return (entry.publication && entry.publication->accepted()) || entry.target();
}

// The one flight of this object: the present one, or a new one.
std::shared_ptr<Flight> Core::Join(const EntryPtr& entry) {
  if (!entry->flight) {
    entry->flight = std::make_shared<Flight>(context_, data_plane_, entry);
  }
  return entry->flight;
}

net::Task<Result<store::CopyPtr>> Core::Get(ObjectId object, CallPtr call) {
  const EntryPtr entry = context_.table.At(object);
  WaitingCall waiting(entry, call);
  std::shared_ptr<Flight> flight;
  std::shared_ptr<Flight::Interest> interest;
  std::optional<JointGets::Waiter> beside_others;
  const std::uint64_t aborts = entry->aborts;
  for (;;) {
    CO_TRY(Usable(*entry));
    if (entry->aborts != aborts) co_return std::unexpected(*entry->abort);
    const store::CopyPtr copy = context_.store.Find(object);
    if (copy && copy->state() == store::CopyState::kFinal) {
      context_.store.Touch(object, Now());
      co_return copy;
    }
    if (flight && flight->done()) {
      if (flight->result()) co_return *flight->result();
      interest.reset();
      beside_others.reset();
      flight.reset();
    }
    if (entry->flight && entry->flight->is_leaf()) {
      co_return std::unexpected(entry->flight->too_large());
    }
    if (!flight && !MadeHere(*entry)) {
      flight = Join(entry);
      if (call->hurries) flight->Hurry();
      interest = std::make_shared<Flight::Interest>(flight);
      flight->Start();
    }
    if (call->together && flight && flight->awaited_memory()) {
      const std::uint64_t bytes = *flight->awaited_memory();
      if (!call->together->leaves(bytes)) {
        co_return std::unexpected(call->together->NoRoom(object, bytes));
      }
      if (!beside_others || beside_others->bytes() != bytes) {
        beside_others.emplace(call->together, flight->awaited_memory(), call->changed);
      }
    }
    if (!co_await waiting.Wait()) co_return std::unexpected(WhyEnded(*entry, *call));
  }
}

net::Task<Result<store::CopyPtr>> Core::Follow(ObjectId object, CallPtr call, bool through_window) {
  const EntryPtr entry = context_.table.At(object);
  WaitingCall waiting(entry, call);
  std::shared_ptr<Flight> flight;
  const std::uint64_t aborts = entry->aborts;
  for (;;) {
    CO_TRY(Usable(*entry));
    if (entry->aborts != aborts) co_return std::unexpected(*entry->abort);
    const store::CopyPtr copy = context_.store.Find(object);
    // A copy that its flight is about to drop is waited out.
    const bool leaves = entry->flight && entry->flight->copy() == copy && entry->flight->leaves();
    if (copy && !leaves) {
      if (!flight && entry->flight)
        call->interest = std::make_shared<Flight::Interest>(entry->flight);
      context_.store.Touch(object, Now());
      co_return copy;
    }
    if (flight && flight->done()) {
      if (flight->result()) co_return *flight->result();
      flight.reset();
    }
    if (entry->flight && entry->flight->is_leaf()) {
      const std::shared_ptr<Flight> leaf = entry->flight;
      if (!through_window) co_return std::unexpected(leaf->too_large());
      if (const store::CopyPtr window = leaf->TakeWindow()) {
        call->interest = std::make_shared<Flight::Interest>(leaf);
        co_return window;
      }
      if (leaf->window_given()) {  // the next one is ours
        call->interest.reset();
        flight.reset();
      }
    } else if (!flight && !MadeHere(*entry)) {
      flight = Join(entry);
      if (through_window) flight->AskForWindow();
      call->interest = std::make_shared<Flight::Interest>(flight);
      flight->Start();
    }
    if (!co_await waiting.Wait()) {
      call->interest.reset();
      co_return std::unexpected(WhyEnded(*entry, *call));
    }
  }
}

namespace {

// While it lives the Delete is repeated after a lost session; not any more when its call was
// answered, since the id may be put again by then.
struct OpenDelete {
  explicit OpenDelete(EntryPtr entry_in) : entry(std::move(entry_in)) { ++entry->open_deletes; }
  ~OpenDelete() { --entry->open_deletes; }
  OpenDelete(const OpenDelete&) = delete;
  OpenDelete& operator=(const OpenDelete&) = delete;

  const EntryPtr entry;
};

}  // namespace

net::Task<Result<void>> Core::Delete(ObjectId object, CallPtr call) {
  const EntryPtr entry = context_.table.At(object);
  WaitingCall waiting(entry, call);
  const OpenDelete open(entry);
  const std::uint64_t before = entry->deletions;
  context_.directory.Send(planner::Delete{object});
  while (entry->deletions == before) {
    if (stopped_) co_return std::unexpected(*stopped_);
    if (co_await waiting.Wait()) continue;
    if (call->cancelled)
      co_return std::unexpected(Error(ErrorCode::kCancelled, "the delete was cancelled"));
    co_return std::unexpected(Error(
        ErrorCode::kTimeout,
        "the directory did not confirm the delete of " + object.ToHex() + " within the deadline"));
  }
  co_return Result<void>{};
}

namespace {

constexpr Duration kAdminPatience = std::chrono::seconds(5);

// Bridges a callback of the directory client to the call that waits for it.
template <typename T>
class Reply {
 public:
  explicit Reply(CallPtr call) : call_(std::move(call)) {}

  std::function<void(Result<T>)> Callback() {
    return [result = result_, call = call_](Result<T> said) {
      *result = std::move(said);
      call->changed.Notify();
    };
  }
  net::Task<Result<T>> Wait() {
    while (!*result_ && !call_->cancelled) co_await call_->changed.Wait();
    if (*result_) co_return **result_;
    co_return std::unexpected(Error(ErrorCode::kCancelled, "the question was cancelled"));
  }

 private:
  const CallPtr call_;
  const std::shared_ptr<std::optional<Result<T>>> result_ =
      std::make_shared<std::optional<Result<T>>>();
};

Duration Patience(const Call& call, Time now) {
  return call.deadline == kNever ? kAdminPatience
                                 : std::max<Duration>(call.deadline - now, Duration{1});
}

}  // namespace

net::Task<Result<planner::ObjectView>> Core::Info(ObjectId object, CallPtr call) {
  Reply<planner::ObjectView> reply(call);
  context_.directory.Find(object, Patience(*call, Now()), reply.Callback());
  co_return co_await reply.Wait();
}

net::Task<Result<planner::StatusPage>> Core::Status(std::size_t shard, planner::PageRequest page,
                                                    CallPtr call) {
  if (shard >= shard_count()) {
    co_return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("there is no shard {}, the directory has {}", shard, shard_count())));
  }
  if (context_.directory.refusal(shard)) {
    co_return std::unexpected(Error(ErrorCode::kUnavailable, WhyAway(shard)));
  }
  Reply<planner::StatusPage> reply(call);
  context_.directory.Status(shard, page, Patience(*call, Now()), reply.Callback());
  co_return co_await reply.Wait();
}

std::shared_ptr<void> Core::Subscribe(ObjectId object,
                                      std::function<void(const planner::Location&)> on_location) {
  return std::make_shared<Subscription>(context_.directory, context_.table.At(object),
                                        Subscriber{std::move(on_location), nullptr, nullptr});
}

// --- what the directory says

void Core::OnAction(const planner::NodeAction& action) {
  std::visit([this](const auto& said) { On(said); }, action);
}

void Core::On(const planner::CreateAccepted& accepted) {
  const EntryPtr entry = context_.table.Find(accepted.object);
  const auto publication = entry ? entry->publication : nullptr;
  if (entry && entry->withdrawn) return;  // the shard takes it back
  if (publication) {
    publication->Accept(accepted.version);
  } else {
    context_.directory.Send(
        planner::CopyGone{accepted.object, accepted.version, planner::GoneReason::kAborted});
  }
}

void Core::On(const planner::CreateRefused& refused) {
  const EntryPtr entry = context_.table.Find(refused.object);
  if (entry && entry->withdrawn) {
    if (refused.code != ErrorCode::kCancelled) return;  // of the Create itself
    entry->withdrawn.reset();
    return entry->Changed();
  }
  const auto publication = entry ? entry->publication : nullptr;
  if (publication) publication->Refuse(Error(refused.code, refused.message));
}

void Core::On(const planner::Located& located) {
  const EntryPtr entry = context_.table.Find(located.object);
  if (!entry) return;
  entry->lost_holder.clear();
  if (entry->flight) entry->flight->OnLocated(located);
}

void Core::On(const planner::InlineObject& object) {
  const EntryPtr entry = context_.table.Find(object.object);
  if (entry && entry->flight) entry->flight->OnInline(object);
}

void Core::On(const planner::Grant& grant) {
  const EntryPtr entry = context_.table.Find(grant.object);
  if (entry && entry->flight) {
    entry->flight->OnGrant(grant);
  } else {
    context_.directory.Send(planner::GrantClosed{grant.object, grant.version, grant.grant,
                                                 planner::Outcome::kAbandoned,
                                                 planner::Failure::kNone, StripeMarks()});
  }
}

void Core::On(const planner::Recall& recall) {
  const EntryPtr entry = context_.table.At(recall.object);
  DropCopies(
      *entry, recall.version, store::VoidReason::kRecalled,
      Error(ErrorCode::kRecalled, "object " + recall.object.ToHex() + " was put anew elsewhere"));
  if (entry->flight) entry->flight->OnRecall(recall.version);
}

void Core::On(const planner::Deleted& deleted) {
  const EntryPtr entry = context_.table.At(deleted.object);
  entry->deleted_until = Now() + deleted.remaining;
  entry->deletion = deleted.version;
  ++entry->deletions;
  DropCopies(*entry, kAllVersions, store::VoidReason::kDeleted,
             Error(ErrorCode::kDeleted, "object " + deleted.object.ToHex() + " was deleted"));
  if (entry->flight) entry->flight->OnDeleted();
  entry->locations.clear();
  const auto subscribers = entry->subscribers;
  for (const auto& weak : subscribers) {
    const auto subscriber = weak.lock();
    if (subscriber && subscriber->on_deleted) subscriber->on_deleted();
  }
  entry->Changed();
}

// Complete copies and Puts of versions below `below`; copies of a flight are the flight's to drop.
void Core::DropCopies(ObjectEntry& entry, Version below, store::VoidReason reason,
                      const Error& error) {
  if (entry.publication && (entry.publication->copy()->version() < below)) {
    const bool deleted = reason == store::VoidReason::kDeleted;
    if (deleted || entry.publication->accepted()) {
      const auto publication = entry.publication;
      publication->Revoke(error, reason);
    }
  }
  const store::CopyPtr copy = context_.store.Find(entry.object);
  if (copy && copy->version() < below && !(entry.flight && entry.flight->copy() == copy)) {
    context_.store.Remove(entry.object);
    copy->Void(reason);
  }
}

void Core::On(const planner::EvictAnswer& answer) { context_.memory.OnEvictAnswer(answer); }

void Core::On(const planner::Location& location) {
  const EntryPtr entry = context_.table.Find(location.object);
  if (!entry) return;
  if (location.kind == planner::LocationKind::kGone) {
    entry->locations.erase(location.node);
  } else {
    entry->locations[location.node] = location;
  }
  const auto subscribers = entry->subscribers;
  for (const auto& weak : subscribers) {
    const auto subscriber = weak.lock();
    if (subscriber && subscriber->on_location) subscriber->on_location(location);
  }
}

void Core::On(const planner::HolderLost& lost) {
  if (const EntryPtr entry = context_.table.Find(lost.object)) entry->lost_holder = lost.node_name;
}

// Its session has stopped to offer more by now.
void Core::On(const planner::InlineFull& /*full*/) {}

void Core::OnSession(std::size_t shard, bool open) {
  log::Info("{}: {}", context_.settings.name,
            open ? fmt::format("directory shard {} is joined", shard) : directory::Away(shard));
  // What was asked of the lost session, or while there was none, will not be answered.
  context_.memory.ForgetQuestions();
  context_.memory.OnSpace();
  for (const auto& [object, entry] : context_.table.entries()) {
    if (!open && ShardOf(object) == shard) ForgetLocations(*entry);
  }
}

// The next session repeats the present holders, but not that others vanished meanwhile.
void Core::ForgetLocations(ObjectEntry& entry) {
  const auto known = std::exchange(entry.locations, {});
  const auto subscribers = entry.subscribers;
  for (const auto& weak : subscribers) {
    const auto subscriber = weak.lock();
    if (!subscriber || !subscriber->on_forgotten) continue;
    for (const auto& [node, location] : known) subscriber->on_forgotten(node);
  }
}

void Core::OnOutlived(std::size_t shard) {
  for (const store::CopyPtr& copy : context_.store.List()) {
    if (ShardOf(copy->object()) != shard) continue;
    const EntryPtr entry = context_.table.At(copy->object());
    DropCopies(*entry, kAllVersions, store::VoidReason::kLost,
               Error(ErrorCode::kPeerLost, "the directory had lost this node for too long"));
    if (entry->flight) entry->flight->OnRecall(kAllVersions);
    context_.store.Remove(copy->object());  // now: the inventory is asked next
  }
}

void Core::OnLost(std::size_t shard) {
  for (const auto& [object, entry] : context_.table.entries()) {
    if (entry->flight && ShardOf(object) == shard) entry->flight->OnLost();
  }
}

std::size_t Core::ShardOf(const ObjectId& object) const {
  return directory::ShardOf(object, context_.directory.shard_count());
}

void Core::Sweep() {
  context_.table.Sweep(Now());
  context_.memory.Tick();
  context_.directory.Send(Usage());
}

planner::StoreUsage Core::Usage() const {
  const store::StoreUsage usage = context_.store.usage();
  return {usage.capacity_bytes, usage.used_bytes, context_.counters.corrupt_blocks};
}

void Core::Stop(const Error& why) {
  if (!stopped_) stopped_ = why;
  for (const auto& [object, entry] : context_.table.entries()) {
    if (entry->flight) entry->flight->Stop(why);
    for (const auto& [number, slot] : entry->slots) slot->Drop(store::VoidReason::kLost);
    const auto publication = entry->publication;
    if (publication && !publication->accepted()) publication->Refuse(why);
    entry->Changed();
  }
}

}  // namespace hoplite::node
