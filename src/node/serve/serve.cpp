#include "node/serve/serve.h"

#include <algorithm>
#include <span>
#include <utility>

#include <asio/post.hpp>

#include "base/log.h"
#include "net/connection_pool.h"
#include "net/deadline.h"
#include "net/handshake.h"
#include "net/timer.h"
#include "node/pull/flight.h"
#include "node/reduce/slot.h"
#include "node/serve/check_up.h"
#include "node/streams/send_lane.h"
#include "wire/check_up.h"
#include "wire/trace.h"

namespace hoplite::node {
namespace {

// A copy that waits for its newcomer is ahead of the receiver by then, or something is wrong.
constexpr Duration kHeldBehind = std::chrono::milliseconds(100);

struct Lookup {
  store::CopyPtr copy;
  wire::EndReason refusal = wire::EndReason::kUnknown;
};

// A slot of a reduction: only its parents ask for its output, and no stripe of it is pulled by anybody
// that it pulls that stripe from.
std::shared_ptr<Slot> SlotOf(const EntryPtr& entry, const wire::Fetch& fetch) {
  if (!entry) return nullptr;
  auto slot = entry->slot(fetch.slot);
  return slot && slot->version() == fetch.version ? slot : nullptr;
}

// A shard that has started again may send this node, without a word of equality, to somebody behind
// the receiver: what its predecessor allowed counts no more (R7).
bool MayBeEqual(const Context& context, const wire::Fetch& fetch) {
  const auto life = context.directory.life(context.ShardOf(fetch.object));
  return fetch.equality_ok && life && fetch.grant.incarnation >= *life;
}

// The watermark-order rule: an acyclic order among all copies of a version, whatever the directory
// believes. The copy is complete, or every asked stripe of it is made here or ahead of the receiver:
// strictly, unless the grant allows equality.
Lookup LookUp(Context& context, const wire::Fetch& fetch) {
  Lookup result;
  const EntryPtr entry = context.table.Find(fetch.object);
  if (entry && entry->deleted(Now())) {
    result.refusal = wire::EndReason::kDeleted;
    return result;
  }
  store::CopyPtr copy;
  if (fetch.slot == 0) {
    copy = context.store.Find(fetch.object);
  } else if (const auto slot = SlotOf(entry, fetch)) {
    copy = slot->output();
    if (!copy) result.refusal = wire::EndReason::kNotAhead;  // it has no memory yet
  }
  if (!copy || (fetch.slot == 0 && copy->version() != fetch.version)) return result;
  const Layout& layout = copy->layout();
  if (!layout.valid(fetch.next) || (fetch.stripes & ~layout.all_stripes()) != 0) return result;
  const bool source_of_all = fetch.slot != 0 || copy->state() == store::CopyState::kFinal;
  const StripeMask passed_on = source_of_all ? 0 : fetch.stripes & ~copy->made_here();
  const bool equality_ok = MayBeEqual(context, fetch);
  for (std::uint32_t s = 0; s < layout.stripe_count && passed_on != 0; ++s) {
    if ((passed_on >> s & 1) == 0) continue;
    const bool ahead = copy->mark(s) > fetch.next[s];
    const bool equal = copy->mark(s) == fetch.next[s];
    if (!ahead && !(equal && equality_ok)) {
      result.refusal = wire::EndReason::kNotAhead;
      return result;
    }
  }
  result.copy = copy;
  return result;
}

// A parent hears of its child's slot when the child does, and may ask before the child's order, or
// its memory, is there.
bool IsEarlySlot(const EntryPtr& entry, const wire::Fetch& fetch) {
  const auto slot = entry ? entry->slot(fetch.slot) : nullptr;
  if (!slot || slot->version() < fetch.version) return true;
  return slot->version() == fetch.version && !slot->output();
}

// The shard's word that it accepted a Put, or that a reduction's fold is made here, goes to the node
// when others hear that they may ask for it. Their FETCH may be there first: the version is about to
// be known (R49).
bool IsEarly(Context& context, const wire::Fetch& fetch) {
  const EntryPtr entry = context.table.Find(fetch.object);
  if (entry && entry->deleted(Now())) return false;
  if (fetch.slot != 0) return IsEarlySlot(entry, fetch);
  const store::CopyPtr copy = context.store.Find(fetch.object);
  return !copy || copy->version() < fetch.version;
}

// This copy grows, and may be ahead of the receiver soon: the shard moves receivers of whom it knows
// no bytes yet behind one that comes first in ring order (R7).
store::CopyPtr MayGetAhead(Context& context, const wire::Fetch& fetch) {
  if (fetch.slot != 0) return nullptr;
  const Lookup lookup = LookUp(context, fetch);
  if (lookup.copy || lookup.refusal != wire::EndReason::kNotAhead) return nullptr;
  store::CopyPtr copy = context.store.Find(fetch.object);
  return copy->state() == store::CopyState::kOpen ? copy : nullptr;
}

// Wakes who waits for a copy to change, on the main loop.
class Growth : private store::CopyListener {
 public:
  Growth(store::CopyPtr copy, asio::io_context& main) : copy_(std::move(copy)), changed_(main) {
    copy_->AddListener(this);
  }
  ~Growth() override { copy_->RemoveListener(this); }
  net::Task<void> Wait(Time until) { co_await changed_.Wait(until); }

 private:
  void OnCopyChanged() noexcept override { changed_.Notify(); }

  const store::CopyPtr copy_;
  net::Signal changed_;
};

// Looks the copy up on the main loop; while the answer lives, the entry counts one outgoing stream.
struct Pending {
  explicit Pending(asio::io_context& loop) : ready(loop) {}
  Lookup lookup;
  net::Signal ready;
};

// A parent asks for these stripes.
void NoteAsked(Context& context, const wire::Fetch& fetch) {
  if (const auto slot = SlotOf(context.table.Find(fetch.object), fetch)) {
    slot->OnAsked(fetch.stripes);
  }
}

// A parent has all of these stripes.
void NoteDrained(Context& context, const wire::Fetch& fetch) {
  if (const auto slot = SlotOf(context.table.Find(fetch.object), fetch)) {
    slot->OnDrained(fetch.stripes);
  }
}

void CountOutgoing(Context& context, const ObjectId& object, int change) {
  const EntryPtr entry = context.table.At(object);
  entry->CountOutgoing(change);
  if (entry->flight()) entry->flight()->OutgoingChanged();
  if (change < 0) context.memory.OnSpace();  // a pin less
}

// A peer that asks for nothing more is let go.
net::Task<Result<wire::Frame>> NextFetch(DataLoop& data_loop, net::ConnectionPtr connection) {
  const Resting resting(data_loop, connection->stream);
  const net::Deadline idle(connection->stream->loop(), Now() + net::kAcceptedIdleLimit,
                           [connection] { connection->stream->Close(); });
  co_return co_await connection->reader.Next();
}

}  // namespace

void Server::Accept(DataLoop& data_loop, net::StreamPtr stream) {
  context_.runtime.Spawn(data_loop.loop, "conversation with a peer",
                         Converse(data_loop, std::move(stream)));
}

net::Task<void> Server::Converse(DataLoop& data_loop, net::StreamPtr stream) {
  const OpenStream open(data_loop, stream);
  auto greeted = co_await Welcome(data_loop, stream);
  if (!greeted) {
    log::Debug("{}: {}", stream->peer_address(), greeted.error().message);
    co_return;
  }
  co_await ServeAll(data_loop, *greeted);
}

net::Task<void> Server::ServeAll(DataLoop& data_loop, net::ConnectionPtr connection) {
  for (;;) {
    auto frame = co_await NextFetch(data_loop, connection);
    if (!frame) break;
    if (const auto* give = std::get_if<wire::Give>(&*frame)) {
      if (!co_await gives_.Receive(connection, *give)) break;
      continue;
    }
    if (std::holds_alternative<wire::TraceAsk>(*frame)) {
      if (!co_await TellTrace(connection)) break;
      continue;
    }
    if (auto* ask = std::get_if<wire::CheckAsk>(&*frame)) {
      if (!co_await TellCheckUp(data_loop, connection, std::move(*ask))) break;
      continue;
    }
    auto* fetch = std::get_if<wire::Fetch>(&*frame);
    if (!fetch) break;
    wire::Fetch wanted = std::move(*fetch);
    if (!co_await ServeOne(data_loop, connection, std::move(wanted))) break;
  }
  connection->stream->Close();
}

net::Task<Result<net::ConnectionPtr>> Server::Welcome(DataLoop& data_loop, net::StreamPtr stream) {
  const Stranger stranger(data_loop, stream);
  co_return co_await net::Answer(stream, data_plane_.identity());
}

// From this loop: also while the main loop hangs.
net::Task<bool> Server::TellTrace(net::ConnectionPtr connection) {
  std::vector<std::byte> told = wire::EncodeTrace(context_.counters.decisions.Read());
  const wire::Frame frame(wire::Trace{static_cast<std::uint32_t>(told.size())});
  co_return co_await Tell(std::move(connection), frame, std::move(told));
}

net::Task<bool> Server::TellCheckUp(DataLoop& data_loop, net::ConnectionPtr connection,
                                    wire::CheckAsk ask) {
  const wire::CheckUp told = co_await CheckUpOf(data_loop, data_plane_, std::move(ask));
  const std::string text = wire::EncodeCheckUp(told);
  const auto bytes = std::as_bytes(std::span(text));
  const wire::Frame frame(wire::Check{static_cast<std::uint32_t>(bytes.size())});
  std::vector<std::byte> payload(bytes.begin(), bytes.end());
  co_return co_await Tell(std::move(connection), frame, std::move(payload));
}

net::Task<bool> Server::Tell(net::ConnectionPtr connection, wire::Frame frame,
                             std::vector<std::byte> told) {
  const net::Deadline patience(connection->stream->loop(), Now() + context_.settings.patience(),
                               [connection] { connection->stream->Close(); });
  std::vector<std::byte> head = wire::Encode(frame);
  net::Payload payload;
  payload.bytes = told;
  const auto sent = co_await connection->stream->Send(head, payload);
  co_return sent.has_value();
}

net::Task<void> Server::Hold(wire::Fetch fetch, std::function<void()> answer) {
  const auto call = std::make_shared<Call>(context_.runtime.main());
  call->deadline = Now() + context_.settings.hold();
  {
    WaitingCall waiting(context_.table.At(fetch.object), call);
    while (IsEarly(context_, fetch)) {
      if (!co_await waiting.Wait()) break;
    }
  }
  if (store::CopyPtr copy = MayGetAhead(context_, fetch)) {
    const Time until = Now() + std::min(kHeldBehind, context_.settings.hold());
    Growth growth(std::move(copy), context_.runtime.main());
    while (Now() < until && MayGetAhead(context_, fetch)) co_await growth.Wait(until);
  }
  answer();
}

net::Task<bool> Server::ServeOne(DataLoop& data_loop, net::ConnectionPtr connection,
                                 wire::Fetch fetch) {
  const auto pending = std::make_shared<Pending>(data_loop.loop);
  asio::post(context_.runtime.main(), [this, pending, fetch] {
    const auto answer = [context = &context_, pending, fetch] {
      pending->lookup = LookUp(*context, fetch);
      if (pending->lookup.copy) CountOutgoing(*context, fetch.object, +1);
      pending->ready.Notify();
    };
    NoteAsked(context_, fetch);
    if (!IsEarly(context_, fetch) && !MayGetAhead(context_, fetch)) return answer();
    context_.runtime.Spawn(context_.runtime.main(), "a held fetch", Hold(fetch, answer));
  });
  co_await pending->ready.Wait();
  if (!pending->lookup.copy) {
    wire::Frame refusal{wire::End{pending->lookup.refusal}};
    const auto sent = co_await connection->Send(std::move(refusal));
    co_return false;
  }
  store::CopyPtr copy = std::move(pending->lookup.copy);
  if (DataLoop* const there = Elsewhere(data_loop, *copy)) {
    if (const net::ConnectionPtr moved = connection->MoveTo(there->loop)) {
      context_.runtime.Spawn(there->loop, "conversation with a peer",
                             GoOn(*there, moved, std::move(copy), std::move(fetch)));
      co_return false;
    }
  }
  co_return co_await SendCopy(connection, std::move(copy), std::move(fetch));
}

// Peers ask for small objects and for others over connections of their own; older ones do not.
DataLoop* Server::Elsewhere(const DataLoop& data_loop, const store::Copy& copy) {
  const std::size_t index = data_plane_.IndexFor(copy.layout().size_bytes, copy.object().Hash());
  DataLoop& there = data_plane_.LoopAt(index);
  const asio::io_context* const main = &context_.runtime.main();
  return (&there.loop == main) != (&data_loop.loop == main) ? &there : nullptr;
}

net::Task<void> Server::GoOn(DataLoop& data_loop, net::ConnectionPtr connection,
                             store::CopyPtr copy, wire::Fetch fetch) {
  const OpenStream open(data_loop, connection->stream);
  if (co_await SendCopy(connection, std::move(copy), std::move(fetch)))
    co_await ServeAll(data_loop, connection);
  connection->stream->Close();
}

net::Task<bool> Server::SendCopy(net::ConnectionPtr connection, store::CopyPtr copy,
                                 wire::Fetch fetch) {
  auto lane = std::make_shared<SendLane>(context_, connection, std::move(copy), fetch);
  const bool complete = co_await lane->Run();
  lane.reset();
  asio::post(context_.runtime.main(), [this, complete, fetch = std::move(fetch)] {
    if (complete && fetch.slot != 0) NoteDrained(context_, fetch);
    CountOutgoing(context_, fetch.object, -1);
  });
  co_return complete;
}

}  // namespace hoplite::node
