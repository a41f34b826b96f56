// OwnerWorld: who owns one id, in every order of events: two nodes with three clients, one shard.
// The real planner::DirectoryState and planner::OwnershipState; copies, Puts and sessions are as
// simple as they can be.
//
// Decides nothing: Steps() says what may happen next, Do() lets one of it happen. Messages wait in a
// queue per session and direction; what a broken session leaves is read late, or lost; an inventory
// is one message. Time passes to the next moment at which something is due, when nothing is under
// way, or from just before with what was said there under way: no message takes longer than a lease.
// Safety is checked after each step, liveness at rest. A value type: the search copies it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "planner/node/ownership_state.h"
#include "planner/shard/directory_state.h"
#include "sim/kit/every_order.h"

namespace hoplite::sim {

// Each breaks one part of the rules R50-R57, at the edge of a shard or a node.
enum class OwnerFault : std::uint8_t {
  kNone,
  kNoNumbers,           // the shard takes words that are left of an older session
  kAnyAnswer,           // the node takes an answer to an older change for one to the newest
  kAnswersAlone,        // the node answers a second client though it has no session
  kNoBits,              // inventories tell no bits
  kOnlyAnsweredBits,    // inventories tell only those that were answered
  kNoOrphanGrace,       // a lost node owns nothing
  kNoMarker,            // the shard does not wait for the end of an inventory
  kOnlyTheWindow,       // a restarted shard waits for no owners that it cannot know
  kKnownOwnersOnly,     // it does, but not where the last owner that it knows disowns
  kNoFlagInInventory,   // inventories do not say that a copy is of an owned id
  kNoNotes,             // inventories do not say what the node owned once
  kNotesTillAnswered,   // they do only until the Disown was answered
  kPutsForNobody,       // a Put does not ask for owners
  kSaysItOnce,          // inventories do not say that somebody relies on an owner
  kNoGraceInInventory,  // inventories do not say how long an owner is waited for
};

struct OwnerOptions {
  struct Calls {
    std::uint32_t owns = 0;
    std::uint32_t disowns = 0;
    std::optional<Duration> grace = {};  // of each Own; none: the orphan grace
  };
  std::array<Calls, 3> calls;  // of the clients; two are at node 0
  std::uint32_t breaks = 0;
  std::uint32_t restarts = 0;
  std::uint32_t client_deaths = 0;
  std::uint32_t node_deaths = 0;
  bool puts_later = false;  // node 1 puts the object at any moment, if it is owned; else it has it
  bool owned_put = false;   // that Put owns it
  bool reads = false;       // node 1 asks for the object once a client owned it, and relies on that
  OwnerFault fault = OwnerFault::kNone;
};

struct OwnerStep {
  enum class Kind : std::uint8_t {
    kToShard,    // the oldest message of `node` arrives
    kToNode,     // the oldest one for `node`
    kLeftOver,   // the shard reads what is left of an old session of `node`
    kForgotten,  // the rest of that is lost
    kConnect,
    kAlmost,    // until just before something is due
    kTime,      // until something is due
    kLongTime,  // for longer than unknown owners are waited for
    kOwn,       // by client `node`
    kDisown,
    kPut,
    kRead,  // by node `node`
    kBreak,
    kRestart,
    kClientDies,
    kNodeDies,
  };
  Kind kind;
  std::uint32_t node = 0;
};
std::string ToString(const OwnerStep& step);

class OwnerWorld {
 public:
  explicit OwnerWorld(const OwnerOptions& options);

  std::vector<OwnerStep> Steps() const;
  bool AtRest() const;
  void Do(const OwnerStep& step);
  const std::string& violation() const { return violation_; }
  std::uint64_t Fingerprint() const;

 private:
  static constexpr std::uint32_t kNodes = 2;
  static constexpr std::uint32_t kClients = 3;
  static constexpr std::uint64_t kExpects = 1;  // by the only Get
  enum class Client : std::uint8_t {
    kIdle,
    kAsked,
    kOwns,
    kLapsed,  // its node was without a session for too long: nothing is promised
    kDead,
  };
  enum class Put : std::uint8_t { kNone, kAsked, kOver };
  enum class Read : std::uint8_t { kNone, kWaits, kOver };
  struct Node {
    planner::OwnershipState owners;
    bool alive = true;
    bool open = false;       // its session, at both ends
    bool known = false;      // to the shard
    bool told = false;       // its inventory, in this session
    Time unheard_since;      // while it is not: the end of the last session in which it was
    Time away_since;         // while it is not open
    std::uint64_t life = 0;  // of the shard in its last session
    std::optional<Version> copy;
    bool ever_owned = false;  // the copy goes with the id's last owner
    Version mark;             // of a deletion that it heard of, until it ends
    Time mark_until;
    Put put = Put::kNone;
    std::uint64_t put_number = 0;
    Read read = Read::kNone;
    std::uint64_t answered = 0;  // the newest change that was answered
    std::vector<std::vector<planner::EventBody>> to_shard;
    std::vector<protocol::NodeAction> to_node;
    std::vector<protocol::Owner> left_over;
  };

  static NodeId IdOf(std::uint32_t node) { return NodeId{node + 1}; }
  static std::uint32_t NodeOf(std::uint32_t client) { return client == 2 ? 1 : 0; }
  planner::DirectoryOptions DirectoryOptionsOf(std::uint64_t incarnation) const;
  bool Faulty(OwnerFault fault) const { return options_.fault == fault; }

  void AddOrdinary(std::vector<OwnerStep>& steps) const;
  void AddCalls(std::vector<OwnerStep>& steps) const;
  void AddFaults(std::vector<OwnerStep>& steps) const;
  bool Quiet() const;
  bool MayRead() const;

  // Nodes (owner_world.cpp).
  void Own(std::uint32_t client);
  void Disown(std::uint32_t client);
  void PutIt();
  void ReadIt();
  void HearOfRead(Node& node, const protocol::NodeAction& action);
  protocol::Create CreateOf(const Node& node) const;
  void Effect(std::uint32_t node, const planner::OwnershipState::Effects& effects);
  void Say(std::uint32_t node, protocol::NodeEvent event);
  void ToNode(std::uint32_t node);
  void Hear(std::uint32_t node, const protocol::NodeAction& action);
  void HearAnswer(std::uint32_t node, protocol::OwnerAnswer answer);
  void DropCopy(Node& node);
  void LoseOwners(std::uint32_t node);

  // Sessions, the shard and time (owner_world_sessions.cpp).
  void ToShard(std::uint32_t node);
  void LeftOver(std::uint32_t node);
  void Connect(std::uint32_t node);
  std::vector<planner::EventBody> InventoryOf(std::uint32_t node) const;
  void Break(std::uint32_t node, bool leaves_words);
  Time LostAt(const Node& node) const;  // the end of its grace
  void Lose(std::uint32_t node);
  void Restart();
  void NodeDies(std::uint32_t node);
  void Tell(const planner::EventBody& event);
  void Plan();
  Time NextChange() const;
  bool MayPass(Time time) const;
  void AdvanceTo(Time time);

  // Properties (owner_world_checks.cpp).
  struct Copies {
    bool any = false;
    bool told = false;  // one at least is known to be of an owned id
  };
  Copies CopiesLeft() const;
  void Fail(const std::string& what);
  void Check();
  void CheckAtRest();

  OwnerOptions options_;
  ObjectId object_;
  Layout layout_;
  Time now_ = Time(std::chrono::hours(1));
  planner::DirectoryState shard_;
  std::uint64_t incarnation_ = 1;
  Time plan_at_ = kNever;
  Time mark_end_;              // of the last deletion: nodes' marks end with the shard's
  Time next_change_ = kNever;  // of the shard or a node, by itself
  std::array<Node, kNodes> nodes_;
  std::array<Client, kClients> clients_{};
  bool ever_ = false;   // the shard heard of an owner
  bool owned_ = false;  // a client was told that it owns
  bool restarted_ = false;
  bool died_ = false;  // a node
  bool long_time_left_ = true;
  std::string violation_;
};

// The search: every state, or so many.
OrdersResult<OwnerStep> SearchOwners(const OwnerOptions& options, std::uint64_t most_states);
std::string ToString(const OrdersResult<OwnerStep>& result);

}  // namespace hoplite::sim
