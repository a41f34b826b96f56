#include "node/clients/client_calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/try.h"
#include "directory/away.h"
#include "node/core/counted.h"
#include "node/local/joint_gets.h"
#include "node/pull/flight.h"
#include "node/pull/read_back.h"
#include "node/pull/subscription.h"
#include "node/put/publication.h"
#include "node/reduce/coordinator.h"
#include "node/reduce/slot.h"
#include "protocol/failure.h"

namespace hoplite::node {

Result<void> ClientCalls::Usable(const ObjectEntry& entry) const {
  if (context_.table.stopped()) return std::unexpected(*context_.table.stopped());
  const Time now = Now();
  if (!entry.deleted(now)) return {};
  const auto left =
      std::chrono::duration_cast<std::chrono::seconds>(entry.deletion().until() - now);
  return std::unexpected(Error(ErrorCode::kDeleted, "object " + entry.object.ToHex() +
                                                        " was deleted; its id is blocked for " +
                                                        std::to_string(left.count() + 1) +
                                                        " s more"));
}

// A node that is drained begins nothing that would leave it with an object.
Result<void> ClientCalls::TakesNew() const {
  if (!drainage_.begun()) return {};
  return std::unexpected(drainage_.Refusal());
}

// The shard may say that there is nothing to wait for.
Result<void> ClientCalls::Expected(const ObjectEntry& entry, const Expecting& expecting) {
  if (!expecting.disappointed()) return {};
  return std::unexpected(
      Error(ErrorCode::kDeleted, "object " + entry.object.ToHex() +
                                     " does not exist and nobody owns it: it went with its last "
                                     "owner, or never had one"));
}

// A failed object is an error to whoever wants its bytes.
Result<store::CopyPtr> ClientCalls::BytesOf(store::CopyPtr copy) {
  if (auto failure = protocol::FailureIn(copy->metadata())) {
    return std::unexpected(*std::move(failure));
  }
  return copy;
}

// A local Put or the root of a reduction makes it here: nothing is to be fetched.
bool ClientCalls::MadeHere(const ObjectEntry& entry) const {
  return (entry.publication() && entry.publication()->accepted()) || entry.target();
}

// Whether a call that has waited since `aborts` were counted may still get it.
Result<void> ClientCalls::MayCome(const ObjectEntry& entry, const Expecting& expecting,
                                  std::uint64_t aborts) const {
  TRY(Usable(entry));
  TRY(Expected(entry, expecting));
  if (entry.aborts() != aborts) return std::unexpected(*entry.abort());
  return {};
}

// The one flight of this object: the present one, or a new one. Null: it is made here; or the present
// one ends, and then there may be another.
Result<std::shared_ptr<Flight>> ClientCalls::Join(const EntryPtr& entry, const Call& call) {
  if (MadeHere(*entry)) return nullptr;
  if (call.deadline <= Now()) return std::unexpected(WhyEnded(*entry, call));
  if (!entry->flight() && !call.hurries) TRY(TakesNew());
  if (entry->flight() && entry->flight()->over()) return nullptr;
  if (!entry->flight()) entry->Begin(std::make_shared<Flight>(context_, data_plane_, entry));
  if (call.only_if_owned) entry->flight()->Expect();
  return entry->flight();
}

// A copy that its flight is about to drop, although it is still there, is waited out.
bool ClientCalls::Leaves(const ObjectEntry& entry, const store::CopyPtr& copy) {
  return entry.flight() && entry.flight()->copy() == copy && entry.flight()->leaves();
}

net::Task<Result<store::CopyPtr>> ClientCalls::Get(ObjectId object, CallPtr call) {
  const EntryPtr entry = context_.table.At(object);
  WaitingCall waiting(entry, call);
  const Expecting expecting(entry, Expects(call->only_if_owned));
  const Time begun = Now();
  std::shared_ptr<Flight> flight;
  std::shared_ptr<Flight::Interest> interest;
  std::shared_ptr<ReadBack::Interest> from_disk;
  std::optional<JointGets::Waiter> beside_others;
  const std::uint64_t aborts = entry->aborts();
  for (;;) {
    CO_TRY(MayCome(*entry, expecting, aborts));
    if (from_disk && from_disk->read().done()) {
      if (from_disk->read().error()) co_return std::unexpected(*from_disk->read().error());
      if (from_disk->read().copy()) co_return BytesOf(from_disk->read().copy());
      from_disk.reset();
      beside_others.reset();
    }
    const store::CopyPtr copy = context_.store.Find(object);
    const bool here = copy && copy->state() == store::CopyState::kFinal && !Leaves(*entry, copy);
    if (here && !copy->on_disk()) {
      context_.store.Touch(object, Now());
      co_return BytesOf(copy);
    }
    if (here && !from_disk) from_disk = ReadBack::In(context_, entry, copy);
    if (flight && flight->done()) {
      if (flight->result()) {
        CO_TRY_ASSIGN(store::CopyPtr got, *flight->result());
        co_return BytesOf(std::move(got));
      }
      interest.reset();
      beside_others.reset();
      flight.reset();
    }
    if (entry->flight() && entry->flight()->is_leaf()) {
      co_return std::unexpected(entry->flight()->too_large());
    }
    if (!flight && !from_disk) {
      CO_TRY_ASSIGN(flight, Join(entry, *call));
      if (flight) {
        if (call->hurries) flight->Hurry();
        interest = std::make_shared<Flight::Interest>(flight);
        flight->Start();
      }
    }
    const auto awaited = from_disk ? from_disk->read().awaited_memory()
                         : flight  ? flight->awaited_memory()
                                   : std::nullopt;
    if (call->together && awaited) {
      const std::uint64_t bytes = *awaited;
      if (!call->together->leaves(bytes)) {
        co_return std::unexpected(call->together->NoRoom(object, bytes));
      }
      if (!beside_others || beside_others->bytes() != bytes) {
        beside_others.emplace(call->together, awaited, call->changed);
      }
    }
    if (!co_await waiting.Wait()) {
      co_return std::unexpected(co_await Ended(entry, call, begun));
    }
  }
}

net::Task<Result<store::CopyPtr>> ClientCalls::Follow(ObjectId object, CallPtr call,
                                                      bool through_window) {
  const EntryPtr entry = context_.table.At(object);
  WaitingCall waiting(entry, call);
  const Expecting expecting(entry, Expects(call->only_if_owned));
  const Time begun = Now();
  std::shared_ptr<Flight> flight;
  std::shared_ptr<ReadBack::Interest> from_disk;
  const std::uint64_t aborts = entry->aborts();
  for (;;) {
    CO_TRY(MayCome(*entry, expecting, aborts));
    if (from_disk && from_disk->read().done()) {
      if (from_disk->read().error()) co_return std::unexpected(*from_disk->read().error());
      from_disk.reset();
    }
    const store::CopyPtr copy = context_.store.Find(object);
    if (copy && copy->on_disk()) {
      if (!from_disk) from_disk = ReadBack::In(context_, entry, copy);
      if (from_disk->read().copy()) {
        call->interest = from_disk;
        co_return BytesOf(from_disk->read().copy());
      }
    } else if (copy && !Leaves(*entry, copy)) {
      if (!flight && entry->flight())
        call->interest = std::make_shared<Flight::Interest>(entry->flight());
      context_.store.Touch(object, Now());
      co_return BytesOf(copy);
    }
    if (flight && flight->done()) {
      if (flight->result()) {
        CO_TRY_ASSIGN(store::CopyPtr got, *flight->result());
        co_return BytesOf(std::move(got));
      }
      flight.reset();
    }
    if (entry->flight() && entry->flight()->is_leaf()) {
      const std::shared_ptr<Flight> leaf = entry->flight();
      if (!through_window) co_return std::unexpected(leaf->too_large());
      if (const store::CopyPtr window = leaf->TakeWindow()) {
        call->interest = std::make_shared<Flight::Interest>(leaf);
        co_return window;
      }
      if (leaf->window_given()) {  // the next one is ours
        call->interest.reset();
        flight.reset();
      }
    } else if (!flight && !from_disk) {
      CO_TRY_ASSIGN(flight, Join(entry, *call));
      if (flight) {
        if (through_window) flight->AskForWindow();
        call->interest = std::make_shared<Flight::Interest>(flight);
        flight->Start();
      }
    }
    if (!co_await waiting.Wait()) {
      Error why = co_await Ended(entry, call, begun);
      call->interest.reset();
      co_return std::unexpected(std::move(why));
    }
  }
}

namespace {

// While it lives the Delete is repeated after a lost session; not any more when its call was
// answered, since the id may be put again by then.
struct OpenDelete {
  explicit OpenDelete(EntryPtr entry_in) : entry(std::move(entry_in)) { entry->deletion().Ask(); }
  ~OpenDelete() { entry->deletion().AskNoMore(); }
  OpenDelete(const OpenDelete&) = delete;
  OpenDelete& operator=(const OpenDelete&) = delete;

  const EntryPtr entry;
};

}  // namespace

net::Task<Result<void>> ClientCalls::Delete(ObjectId object, CallPtr call) {
  const EntryPtr entry = context_.table.At(object);
  WaitingCall waiting(entry, call);
  const OpenDelete open(entry);
  const std::uint64_t before = entry->deletion().confirmed();
  context_.directory.Send(protocol::Delete{object});
  while (entry->deletion().confirmed() == before) {
    if (context_.table.stopped()) co_return std::unexpected(*context_.table.stopped());
    if (co_await waiting.Wait()) continue;
    if (call->cancelled)
      co_return std::unexpected(Error(ErrorCode::kCancelled, "the delete was cancelled"));
    co_return std::unexpected(
        Error(ErrorCode::kTimeout, "the directory did not confirm the delete of " + object.ToHex() +
                                       " within the deadline" + context_.IfAway(object)));
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

net::Task<Result<protocol::ObjectView>> ClientCalls::Info(ObjectId object, CallPtr call) {
  Reply<protocol::ObjectView> reply(call);
  context_.directory.Find(object, Patience(*call, Now()), reply.Callback());
  co_return co_await reply.Wait();
}

net::Task<Result<protocol::StatusPage>> ClientCalls::Status(std::size_t shard,
                                                            protocol::PageRequest page,
                                                            CallPtr call) {
  if (shard >= shard_count()) {
    co_return std::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("there is no shard {}, the directory has {}", shard, shard_count())));
  }
  if (const auto why = context_.directory.why_away(shard); why && directory::Refuses(*why)) {
    co_return std::unexpected(Error(ErrorCode::kUnavailable, context_.WhyAway(shard)));
  }
  Reply<protocol::StatusPage> reply(call);
  context_.directory.Status(shard, page, Patience(*call, Now()), reply.Callback());
  co_return co_await reply.Wait();
}

std::shared_ptr<void> ClientCalls::Subscribe(
    ObjectId object, std::function<void(const protocol::Location&)> on_location) {
  return std::make_shared<Subscription>(context_.directory, context_.table.At(object),
                                        Subscriber{.on_location = std::move(on_location)});
}

std::shared_ptr<void> ClientCalls::Watch(ObjectId object, Subscriber watcher, bool only_if_owned) {
  const EntryPtr entry = context_.table.At(object);
  const auto known = entry->followers().places();
  for (const auto& [node, location] : known) watcher.on_location(location);
  if (entry->deleted(Now())) watcher.on_deleted();
  if (const auto failure = entry->followers().failure()) watcher.on_failed(*failure);
  if (entry->followers().lost() && watcher.on_lost) watcher.on_lost();
  watcher.expects = Expects(only_if_owned);
  return std::make_shared<Subscription>(context_.directory, entry, std::move(watcher));
}

}  // namespace hoplite::node
