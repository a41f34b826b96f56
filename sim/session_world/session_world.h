// SessionWorld: nodes with sessions to one shard, in every order of events. Its models say what clients
// do, and what must hold: OwnerWorld (owner_world.h) and RegisterWorld (register_world.h).
//
// Decides nothing: Steps() says what may happen next, Do() lets one of it happen. The shard is the real
// planner::DirectoryState; sessions are as simple as they can be. Messages wait in a queue per session
// and direction; what a broken session leaves is read late, or lost; an inventory is one message. Time
// passes to the next moment at which something is due, when nothing is under way or that moment is near:
// no message takes longer than a lease. Safety is checked after each step, liveness at rest. A value
// type: the search copies it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"
#include "planner/shard/directory_state.h"
#include "sim/kit/every_order.h"

namespace hoplite::sim {

class SessionWorld;

// A step calls a function of a world, or of its model, for the node or client `who`.
struct SessionStep {
  template <typename World>
  SessionStep(const char* what, void (World::*function)(std::uint32_t), std::uint32_t whose = 0)
      : name(what), take(static_cast<decltype(take)>(function)), who(whose) {}

  const char* name;
  void (SessionWorld::*take)(std::uint32_t who);
  std::uint32_t who;
};
std::string ToString(const OrdersResult<SessionStep>& result);

struct SessionOptions {
  std::uint32_t nodes = 2;
  std::uint32_t breaks = 0;
  std::uint32_t restarts = 0;
  std::uint32_t node_deaths = 0;   // of the first two
  std::size_t most_left_over = 1;  // words of broken sessions of a node
  bool almost = false;             // time may stop just before something is due
  bool old_clock = false;          // planted: a restarted shard counts its lives from the beginning
};

class SessionWorld {
 public:
  static constexpr std::size_t kLongestPath = 300;

  std::vector<SessionStep> Steps() const;
  bool AtRest() const;
  void Do(const SessionStep& step);
  const std::string& violation() const { return violation_; }
  std::uint64_t Fingerprint() const;

 protected:
  static constexpr Duration kSlowest = std::chrono::seconds(1);  // no message takes longer
  static constexpr Duration kJustBefore = std::chrono::milliseconds(500);
  static constexpr Duration kLease = std::chrono::seconds(1);
  static constexpr Duration kGrace = std::chrono::seconds(1);
  static constexpr Duration kOrphanGrace = std::chrono::seconds(30);
  struct Session {
    bool alive = true;   // its node
    bool open = false;   // at both ends
    bool known = false;  // its node, to the shard
    bool told = false;   // its inventory
    Time unheard_since;  // while it is not: the end of the last session in which it was
    Time away_since;     // while it is not open
    std::vector<std::vector<protocol::NodeEvent>> to_shard;
    std::vector<protocol::NodeAction> to_node;
    std::vector<protocol::NodeEvent> left_over;
  };

  explicit SessionWorld(const SessionOptions& options)
      : sessions_(options.nodes), options_(options) {}
  SessionWorld(const SessionWorld&) = default;
  SessionWorld(SessionWorld&&) = default;
  ~SessionWorld() = default;

  // --- what a model says and does

  virtual void AddCalls(std::vector<SessionStep>& steps) const = 0;
  virtual void AddFaults(std::vector<SessionStep>& steps) const;
  // A session opens: the shard is told who comes, and the node says its inventory.
  virtual void Join(std::uint32_t node) = 0;
  virtual void Hear(std::uint32_t node, const protocol::NodeAction& action) = 0;
  virtual void Ended(std::uint32_t node) = 0;  // a session of the node has ended
  virtual void Died(std::uint32_t node) = 0;
  virtual void Tell(planner::EventBody event) = 0;     // the shard hears it
  virtual void Answered(planner::Action& action) = 0;  // the shard says it; a fault changes it
  virtual Time NextChange() const;  // then the shard or a node does something by itself
  virtual Time NextOfNodes() const;
  virtual bool MayPass(Time /*until*/) const { return true; }
  virtual void TimePassed() = 0;
  virtual void CheckStep() {}
  virtual void CheckAtRest() = 0;
  virtual void AddState(Digest& digest) const = 0;

  // --- what it builds on

  static NodeId IdOf(std::uint32_t node) { return NodeId{node + 1}; }
  static protocol::NodeInfo InfoOf(std::uint32_t node) {
    return {IdOf(node), std::to_string(node), "x:1"};
  }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(sessions_.size()); }
  void Start();  // the shard, and a session of each node
  void Say(std::uint32_t node, protocol::NodeEvent event);
  void Break(std::uint32_t node, bool leaves_words);
  // A node without a session is lost when its grace ends.
  static Time LostAt(const Session& session) {
    return session.known && !session.open ? session.away_since + kGrace : kNever;
  }
  bool Unheard(std::uint32_t node, Duration how_long) const;
  bool Quiet() const;
  void Settle();  // all that is under way arrives
  void AdvanceTo(Time time);
  void Fail(const std::string& what) { violation_ = violation_.empty() ? what : violation_; }

  Time now_ = Time(std::chrono::hours(1));
  planner::DirectoryOptions directory_{.orphan_grace = kOrphanGrace,
                                       .unknown_owners = kLease + kGrace + kOrphanGrace,
                                       .recovery_window = Duration{0}};
  planner::DirectoryState shard_{directory_, now_};
  std::uint64_t incarnation_ = 1;
  Time plan_at_ = kNever;
  Time next_change_ = kNever;
  std::vector<Session> sessions_;  // each node has one
  std::string violation_;

 private:
  void AddOrdinary(std::vector<SessionStep>& steps) const;
  void Plan();
  void Lose(std::uint32_t node);

  // Steps.
  void Connect(std::uint32_t node);
  void ToShard(std::uint32_t node);
  void ToNode(std::uint32_t node);
  void LeftOver(std::uint32_t node);  // the shard reads the oldest word that is left
  void Forget(std::uint32_t node) { sessions_[node].left_over.clear(); }
  void TimeAlmost(std::uint32_t) { AdvanceTo(next_change_ - kJustBefore); }
  void TimePasses(std::uint32_t) { AdvanceTo(next_change_); }
  void BreakOne(std::uint32_t node);
  void NodeDies(std::uint32_t node);
  void Restart(std::uint32_t);

  SessionOptions options_;
};

}  // namespace hoplite::sim
