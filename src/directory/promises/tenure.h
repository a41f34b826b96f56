// Tenure: whether this member holds its shard (R110, R112, R114 and R115 in
// sim/session_world/README.md).
//
// Decides: when to claim the shard, by which life, and when to give up; which rounds of promises
// were kept by a majority; for which nodes a successor waits. Is told: the time, answers of voters,
// and which nodes were welcomed, heard or lost. Its own voter is asked like the others.
//
// Must never count a promise of another life or round, take a life that a voter has heard of, or
// hold on where another life held. Its own clock serves only to be quick: the fence is at the nodes
// (R113). Pure; O(names) a round.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "directory/promises/promise.h"

namespace hoplite::directory {

class Tenure {
 public:
  struct Settings {
    std::uint32_t members = 3;
    MemberPlace place = 0;  // of this member
    Duration tenure = std::chrono::seconds(2);
    Duration pause = std::chrono::milliseconds(200);  // between the beginnings of two rounds
    Duration turn = std::chrono::milliseconds(100);   // between claims of two members
  };
  // What is to be sent to every member's voter.
  struct Say {
    std::optional<PromiseAsk> ask = {};
    std::uint64_t free = 0;  // this life; 0: none
  };

  explicit Tenure(const Settings& settings) : settings_(settings) {}

  // What is due now. `free_since`: of the voter of this member (Voter::until); `clock`: in µs.
  Say Turn(Time now, Time free_since, std::uint64_t clock);
  // When Turn has something to do.
  Time next(Time free_since) const;
  Say Hear(MemberPlace voter, const PromiseAnswer& answer, Time now);

  bool holds() const { return state_ == State::kHolds; }
  bool claims() const { return state_ == State::kClaims; }
  std::uint64_t life() const { return life_; }

  // What came when `begun` was the newest round is acknowledged when a later one is kept.
  std::uint64_t begun() const { return round_; }
  std::uint64_t kept() const { return kept_; }
  // Somebody waits for a round.
  void Hurry() { hurry_ = true; }

  // A node says Hello, and names the highest life that it has heard of. False: a life above that one
  // is needed first, and this one is over. The node is named from the next round on.
  bool Greet(NodeId node, std::uint64_t highest, Time now, Say& say);
  void Told(NodeId node) { awaited_.erase(node); }  // its whole inventory
  void Lose(NodeId node);
  // The time is over in which nodes come that nobody named.
  void EndWindow() { names_.complete = true; }
  // A Put or a register may still be unknown to this life.
  bool collecting() const { return !names_.complete || !awaited_.empty(); }
  // Whether voters named all nodes; else the time of a started shard passes first.
  bool complete() const { return names_.complete; }
  bool awaits(NodeId node) const { return awaited_.contains(node); }
  std::uint64_t shard_id() const { return names_.shard_id; }
  void SetShardId(std::uint64_t id) { names_.shard_id = id; }

  void AddTo(Digest& digest, Time now) const;

 private:
  enum class State { kStandsBy, kClaims, kHolds };

  std::uint32_t Majority() const { return settings_.members / 2 + 1; }
  Duration Limit() const { return settings_.tenure / 4; }  // of a round
  Duration ClaimLimit() const;
  std::uint64_t NewLife(std::uint64_t clock) const;
  Say Claim(Time now, std::uint64_t clock);
  Say GiveUp(Time now);
  Say BeginRound(Time now);
  void Count(MemberPlace voter, const PromiseAnswer& answer);
  void Inherit(const PromiseAnswer& answer);
  void Keep();
  void StandBy(Time try_at);

  Settings settings_;
  State state_ = State::kStandsBy;
  std::uint64_t life_ = 0;
  std::uint64_t highest_ = 0;     // life that this member has heard of
  std::uint64_t round_ = 0;       // the newest
  std::uint64_t kept_ = 0;        // the newest that a majority promised
  Time asked_at_{};               // the newest round
  Time kept_since_{};             // the beginning of the newest kept one
  Time try_at_{};                 // no claim before
  std::uint32_t unanswered_ = 0;  // claims, one after another
  bool hurry_ = false;
  std::set<MemberPlace> promised_;  // in this round
  std::set<MemberPlace> refused_;
  std::uint32_t complete_ = 0;    // promises to a claimant with complete names
  std::uint64_t names_life_ = 0;  // whose shard id it is
  ShardNames names_;
  std::set<NodeId> awaited_;  // of names_
  std::set<NodeId> greeted_;  // by this life
};

}  // namespace hoplite::directory
