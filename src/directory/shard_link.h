// ShardLink: a node's conversation with one shard, across sessions.
//
//   closed --Open--> greeting --Welcome--> open --ended--> closed, again after a short pause
//
// Of a shard with several members MemberOrder names the one that is tried: the pause is between two
// rounds, and the shard is away when a round has ended.
//
// Decides: when to try again, when the shard is silent for too long, whether the node's copies are
// still to be believed. A node that has been welcome and holds copies is never told to leave by a
// shard that refuses it, except that another took its name. Is told: what the shard says. From
// Welcome on the session is open: it tells the node's inventory as there is room for it
// (InventoryTeller), beside heartbeats and events, paced by what the shard takes (SessionOutbox).
// Must never send an event outside an open session, or run a hook after Stop. On the node's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/io_context.hpp>

#include "base/clock.h"
#include "base/limits.h"
#include "base/time.h"
#include "directory/directory_client.h"
#include "directory/inventory_teller.h"
#include "directory/member_order.h"
#include "directory/patience.h"
#include "directory/session_outbox.h"
#include "directory/shard_port.h"
#include "net/timer.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

struct LinkTimes {
  Duration first_pause = std::chrono::milliseconds(20);  // before another try; doubles
  Duration longest_pause = std::chrono::milliseconds(500);
  Duration between_rounds = std::chrono::milliseconds(100);  // instead, where there are members
  Duration welcome = std::chrono::seconds(1);  // an attempt that is silent for so long is given up
  // A name in use may be that of a node whose death isn't noticed yet; for so long it is asked for
  // again. A shard bears the silence of one that was late for up to five leases (R58).
  Duration name_in_use = std::chrono::seconds(7);
};

// By which ids a node knows the shards of its cluster (R44); 0: not told yet. Its links share them.
using ShardIds = std::vector<std::uint64_t>;

class ShardLink : public std::enable_shared_from_this<ShardLink> {
 public:
  // hooks must outlive the link's last use, which Stop ends. hello.highest_incarnation is kept
  // up to date here.
  ShardLink(asio::io_context& loop, ShardPort& port, wire::Hello hello, ShardIds& known,
            const DirectoryClient::Hooks& hooks, LinkTimes times, const Pace& pace = {});

  void Start();
  void Send(protocol::NodeEvent event);  // dropped while no session is open
  void Stop();
  bool open() const { return state_ == State::kOpen; }
  // See DirectoryClient.
  std::optional<std::uint64_t> life() const {
    return open() ? std::optional(welcome_->incarnation) : std::nullopt;
  }
  std::optional<Time> vouched() const { return open() ? std::optional(vouched_) : std::nullopt; }
  std::uint64_t inline_limit() const {
    return welcome_ ? welcome_->inline_limit_bytes : kMaxInlineBytes;
  }
  const std::optional<Error>& why_away() const { return why_away_; }
  Duration away_for() const { return open() ? Duration{0} : Now() - away_since_; }

 private:
  enum class State { kClosed, kGreeting, kOpen, kStopped };

  void Open();
  void OnMessage(wire::ShardMessage message);
  void OnWelcome(const wire::Welcome& welcome);
  void CheckOwnStanding(const wire::Welcome& welcome);
  void NoteVersion(const protocol::NodeEvent& event);
  void Pump();
  void PumpSoon();
  bool TellMore();
  void Flush();
  void OnEnded(const wire::Ended& ended);
  std::optional<Error> TryNext(const wire::Ended& ended);
  void NoteMove(const Error& why);
  Duration NextPause();
  bool Holds(std::size_t shard) const;
  void LogEnd(const Error& why);
  std::string WhatNow(const Error& refusal) const;
  bool StaysWithCopies() const;
  bool MayRetry(const wire::Ended& ended);
  void Settle();
  void Leave();  // the session, if any; tells on_session
  void Beat();
  void After(Duration delay, void (ShardLink::*step)());
  void GiveUpGreeting();

  ShardPort& port_;
  wire::Hello hello_;
  ShardIds& known_;
  const DirectoryClient::Hooks& hooks_;
  const LinkTimes times_;
  const Pace pace_;

  asio::io_context& loop_;
  State state_ = State::kClosed;
  std::unique_ptr<Connection> connection_;
  std::uint64_t attempt_ = 0;  // messages of an earlier attempt are ignored
  MemberOrder order_;
  net::Timer timer_;
  Duration pause_;
  std::optional<wire::Welcome> welcome_;  // of the current or the last session
  SessionOutbox<protocol::NodeEvent> outbox_;
  InventoryTeller teller_;
  bool pump_posted_ = false;
  std::uint64_t heartbeat_ = 0;
  Time last_ack_;  // of a heartbeat; when the session opened before the first
  Time silent_since_;
  Time beat_due_;
  Patience patience_;
  std::map<std::uint64_t, Time> beats_;  // not answered yet: when they left, since boot
  Time vouched_;                         // when what the shard answered last left, since boot
  std::optional<Time> name_refused_since_;
  bool settled_ = false;             // on_settled was told
  std::optional<Error> why_away_;    // the end of the last session or round, until Welcome
  std::optional<ErrorCode> logged_;  // of why it is away, until Welcome
  Time away_since_{};                // the end of the last session, or Start
};

}  // namespace hoplite::directory
