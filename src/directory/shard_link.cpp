#include "directory/shard_link.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "directory/away.h"

namespace hoplite::directory {

namespace {

// The incarnation of the version that a message speaks of; 0 if of none.
template <typename Variant>
std::uint64_t IncarnationIn(const Variant& message) {
  return std::visit(
      [](const auto& body) -> std::uint64_t {
        if constexpr (requires { body.version.incarnation; }) return body.version.incarnation;
        return 0;
      },
      message);
}

}  // namespace

ShardLink::ShardLink(asio::io_context& loop, ShardPort& port, wire::Hello hello, ShardIds& known,
                     const DirectoryClient::Hooks& hooks, LinkTimes times, const Pace& pace)
    : port_(port),
      hello_(std::move(hello)),
      known_(known),
      hooks_(hooks),
      times_(times),
      pace_(pace),
      loop_(loop),
      order_(port.members()),
      timer_(loop),
      pause_(times.first_pause),
      teller_(hello_.shard_index, hooks) {}

void ShardLink::Start() {
  away_since_ = Now();
  Open();
}

void ShardLink::Open() {
  state_ = State::kGreeting;
  hello_.shard_id = known_.at(hello_.shard_index);
  hello_.holds = Holds(hello_.shard_index);
  if (hooks_.owner_number) hello_.owner_number = hooks_.owner_number(hello_.shard_index);
  if (hooks_.register_number) {
    hello_.register_number = hooks_.register_number(hello_.shard_index);
  }
  beats_.clear();
  vouched_ = NowSinceBoot();
  const std::uint64_t attempt = ++attempt_;
  After(order_.patience(times_.welcome), &ShardLink::GiveUpGreeting);
  connection_ = port_.Open(order_.current(), hello_,
                           [weak = weak_from_this(), attempt](wire::ShardMessage message) {
                             const auto self = weak.lock();
                             if (self && self->attempt_ == attempt)
                               self->OnMessage(std::move(message));
                           });
}

bool ShardLink::Holds(std::size_t shard) const { return hooks_.holds && hooks_.holds(shard); }

void ShardLink::Send(protocol::NodeEvent event) {
  if (state_ != State::kOpen) return;
  if (!teller_.MaySay(event)) return PumpSoon();
  NoteVersion(event);
  outbox_.Push(std::move(event));
  PumpSoon();
}

void ShardLink::NoteVersion(const protocol::NodeEvent& event) {
  hello_.highest_incarnation = std::max(hello_.highest_incarnation, IncarnationIn(event));
}

// Runs between two steps of the node, so what the node tells of itself is consistent.
void ShardLink::Pump() {
  for (protocol::NodeEvent& event : teller_.TakeDue()) {
    NoteVersion(event);
    outbox_.Push(std::move(event));
  }
  do Flush();
  while (outbox_.room() && TellMore());
}

void ShardLink::PumpSoon() {
  if (std::exchange(pump_posted_, true)) return;
  asio::post(loop_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->pump_posted_ = false;
    if (self->state_ == State::kOpen) self->Pump();
  });
}

// Takes the next part only when nothing waits, so that no part delays an event of the node.
bool ShardLink::TellMore() {
  std::optional<InventoryTeller::Events> part = teller_.Next(outbox_.part());
  const bool bytes = !part.has_value();
  if (bytes) part = teller_.NextBytes(outbox_.part());
  if (!part) return false;
  for (protocol::NodeEvent& event : *part) {
    NoteVersion(event);
    outbox_.PushBulk(std::move(event));
  }
  if (bytes) teller_.BytesSent(outbox_.sent() + outbox_.waiting_bytes());
  if (!part->empty()) return true;
  // Very many objects may have nothing to say: the loop does other work before the next part.
  PumpSoon();
  return false;
}

void ShardLink::Flush() {
  while (auto departure = outbox_.Next(Now())) {
    connection_->Send({.events = std::move(departure->words), .number = departure->number});
  }
}

void ShardLink::Stop() {
  state_ = State::kStopped;
  ++attempt_;
  timer_.cancel();
  if (connection_) connection_->Close();
  connection_.reset();
}

void ShardLink::OnMessage(wire::ShardMessage message) {
  const std::uint64_t attempt = attempt_;
  if (message.shard_id) known_.at(hello_.shard_index) = *message.shard_id;
  if (message.welcome && state_ == State::kGreeting) OnWelcome(*message.welcome);
  if (state_ == State::kGreeting && !message.ended) {
    After(order_.patience(times_.welcome), &ShardLink::GiveUpGreeting);
  }
  for (const protocol::NodeAction& action : message.actions) {
    if (attempt != attempt_ || state_ != State::kOpen) return;  // a hook may have stopped us
    hello_.highest_incarnation = std::max(hello_.highest_incarnation, IncarnationIn(action));
    if (std::holds_alternative<protocol::InlineFull>(action)) teller_.NoRoomForBytes();
    hooks_.on_action(action);
  }
  if (attempt != attempt_) return;
  if (message.heartbeat_ack) {
    const Time now = Now();
    patience_.Heard(now - silent_since_ - welcome_->heartbeat, now);
    last_ack_ = silent_since_ = now;
    if (const auto beat = beats_.find(*message.heartbeat_ack); beat != beats_.end()) {
      vouched_ = beat->second;
      beats_.erase(beats_.begin(), std::next(beat));
    }
    // The shard hears us, so the next attempt need not pause as after one that failed at once.
    pause_ = times_.first_pause;
    order_.Lasts();
  }
  if (message.number) connection_->Send({.taken = message.number});
  if (message.taken && state_ == State::kOpen) {
    outbox_.Taken(*message.taken, Now());
    teller_.Taken(outbox_.taken());
    Pump();
  }
  if (message.ended) OnEnded(*message.ended);
}

void ShardLink::OnWelcome(const wire::Welcome& welcome) {
  const auto level = std::exchange(logged_, {}) ? log::Level::kWarn : log::Level::kInfo;
  why_away_.reset();
  log::Write(level, fmt::format("session with directory shard {} is open", hello_.shard_index));
  known_.at(hello_.shard_index) = welcome.shard_id;
  const std::uint64_t attempt = attempt_;
  name_refused_since_.reset();
  CheckOwnStanding(welcome);
  if (attempt != attempt_) return;
  welcome_ = welcome;
  order_.Answers(welcome.members);
  last_ack_ = silent_since_ = beat_due_ = Now();
  patience_ = {};
  if (hooks_.on_owner_terms) {
    hooks_.on_owner_terms(hello_.shard_index,
                          {welcome.lease, welcome.orphan_grace, welcome.tombstone});
  }
  outbox_ = SessionOutbox<protocol::NodeEvent>(pace_);
  teller_.Begin(welcome.incarnation);
  state_ = State::kOpen;
  Beat();
  Pump();
  if (hooks_.on_session) hooks_.on_session(hello_.shard_index, true);
  if (attempt == attempt_) Settle();
}

// What the node must know before it is asked for its inventory.
void ShardLink::CheckOwnStanding(const wire::Welcome& welcome) {
  const bool same_life = welcome_ && welcome_->incarnation == welcome.incarnation;
  if (!same_life || welcome.remembered) return;
  const std::uint64_t attempt = attempt_;
  // Deletes of that time may be forgotten by now: the copies must not bring their objects back.
  if (Now() - last_ack_ > welcome_->tombstone && hooks_.on_outlived) {
    hooks_.on_outlived(hello_.shard_index);
  }
  if (attempt != attempt_) return;
  log::Info("directory shard {} had declared this node lost; it joins again", hello_.shard_index);
  if (hooks_.on_lost) hooks_.on_lost(hello_.shard_index);
}

void ShardLink::OnEnded(const wire::Ended& ended) {
  const std::uint64_t attempt = attempt_;
  const std::optional<Error> away = TryNext(ended);
  if (away) LogEnd(*away);
  if (!away) NoteMove(ended.error);
  Leave();
  if (attempt + 1 != attempt_) return;
  if (MayRetry(ended)) {
    After(away ? NextPause() : Duration{0}, &ShardLink::Open);
    if (away && ended.error.code != ErrorCode::kAlreadyExists) Settle();
    return;
  }
  state_ = State::kStopped;
  if (hooks_.on_refused) hooks_.on_refused(ended.error);
}

// Nothing, if another member is tried at once; else why the shard is away.
std::optional<Error> ShardLink::TryNext(const wire::Ended& ended) {
  const bool stands_by = !ended.members.addresses.empty();
  // What refuses the node holds the shard: it is asked again.
  if (!stands_by && Refuses(ended.error)) return ended.error;
  const bool over = stands_by ? order_.StandsBy(ended.members) : order_.Fails(ended.error.message);
  if (!over) return std::nullopt;
  if (order_.alone()) return ended.error;
  return Error(ErrorCode::kUnavailable, order_.Report());
}

// A session that moves is no shard that is away, until a round has ended.
void ShardLink::NoteMove(const Error& why) {
  if (state_ == State::kOpen) {
    log::Info("directory shard {}: {}; {} is tried next", hello_.shard_index, why.message,
              order_.current());
  }
  if (!why_away_) why_away_ = why;
}

Duration ShardLink::NextPause() {
  const Duration longest = order_.alone() ? times_.longest_pause : times_.between_rounds;
  return std::exchange(pause_, std::min(2 * pause_, longest));
}

// Once for each kind of reason, however often it is tried again.
void ShardLink::LogEnd(const Error& why) {
  const bool news = std::exchange(logged_, why.code) != why.code;
  why_away_ = why;
  const log::Level level = news ? log::Level::kWarn : log::Level::kDebug;
  if (!Refuses(why)) return log::Write(level, Away(hello_.shard_index, why.message));
  log::Write(level, fmt::format("directory shard {} refuses this node: {}{}", hello_.shard_index,
                                why.message, WhatNow(why)));
}

std::string ShardLink::WhatNow(const Error& refusal) const {
  if (refusal.code == ErrorCode::kAlreadyExists) {
    const auto bound = std::chrono::ceil<std::chrono::seconds>(times_.name_in_use);
    return fmt::format("; it asks again for {} s, as that node may have died just now",
                       bound.count());
  }
  return StaysWithCopies() ? "; it waits with its objects, and asks again" : "";
}

// Any shard's welcome counts: a node may never have met the one that refuses it.
bool ShardLink::StaysWithCopies() const {
  const auto shards = std::views::iota(std::size_t{0}, known_.size());
  return std::ranges::any_of(known_, [](std::uint64_t id) { return id != 0; }) &&
         std::ranges::any_of(shards, [this](std::size_t shard) { return Holds(shard); });
}

bool ShardLink::MayRetry(const wire::Ended& ended) {
  if (!ended.retry) return StaysWithCopies();
  if (ended.error.code != ErrorCode::kAlreadyExists) return true;
  if (!name_refused_since_) name_refused_since_ = Now();
  return Now() - *name_refused_since_ < times_.name_in_use;
}

void ShardLink::Settle() {
  if (!std::exchange(settled_, true) && hooks_.on_settled) hooks_.on_settled(hello_.shard_index);
}

void ShardLink::Leave() {
  const bool was_open = state_ == State::kOpen;
  state_ = State::kClosed;
  if (was_open) away_since_ = Now();
  ++attempt_;
  timer_.cancel();
  if (connection_) connection_->Close();
  connection_.reset();
  if (was_open && hooks_.on_session) hooks_.on_session(hello_.shard_index, false);
}

// A lease has two sides: a shard that acknowledges nothing has given this node up, or is gone. While
// this loop had to wait it heard nobody: that is not the shard's silence.
void ShardLink::Beat() {
  const Time now = Now();
  silent_since_ += now - beat_due_;
  beat_due_ = now + welcome_->heartbeat;
  if (now - silent_since_ > patience_.With(welcome_->lease, now)) {
    return OnEnded({.error = {ErrorCode::kUnavailable, "its heartbeats are not acknowledged"}});
  }
  wire::NodeMessage message;
  message.heartbeat = ++heartbeat_;
  beats_[heartbeat_] = NowSinceBoot();
  connection_->Send(std::move(message));
  After(welcome_->heartbeat, &ShardLink::Beat);
}

void ShardLink::GiveUpGreeting() {
  OnEnded({.error = {ErrorCode::kUnavailable, std::string(kNoAnswer)}});
}

void ShardLink::After(Duration delay, void (ShardLink::*step)()) {
  timer_.expires_after(delay);
  timer_.async_wait(
      [weak = weak_from_this(), attempt = attempt_, step](const asio::error_code& error) {
        const auto self = weak.lock();
        if (error || !self || self->attempt_ != attempt || self->state_ == State::kStopped) return;
        (self.get()->*step)();
      });
}

}  // namespace hoplite::directory
