// OwnerWorld: a world of sessions whose clients own one id: two nodes with three clients. The real
// planner::OwnershipState; copies and Puts are as simple as they can be.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "planner/node/ownership_state.h"
#include "sim/session_world/session_world.h"

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

class OwnerWorld final : public SessionWorld {
 public:
  explicit OwnerWorld(const OwnerOptions& options);

 private:
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
    std::uint64_t life = 0;  // of the shard in its last session
    std::optional<Version> copy;
    bool ever_owned = false;  // the copy goes with the id's last owner
    Version mark;             // of a deletion that it heard of, until it ends
    Time mark_until;
    Put put = Put::kNone;
    std::uint64_t put_number = 0;
    Read read = Read::kNone;
    std::uint64_t answered = 0;  // the newest change that was answered
  };

  static std::uint32_t NodeOf(std::uint32_t client) { return client == 2 ? 1 : 0; }
  bool Faulty(OwnerFault fault) const { return options_.fault == fault; }

  // Clients, nodes and sessions (owner_world.cpp).
  void AddCalls(std::vector<SessionStep>& steps) const override;
  void AddFaults(std::vector<SessionStep>& steps) const override;
  void Join(std::uint32_t node) override;
  void Hear(std::uint32_t node, const protocol::NodeAction& action) override;
  void Ended(std::uint32_t node) override;
  void Died(std::uint32_t node) override;
  void Tell(planner::EventBody event) override;
  void Answered(planner::Action& action) override;
  void AddState(Digest& digest) const override;
  void Own(std::uint32_t client);
  void Disown(std::uint32_t client);
  void PutIt(std::uint32_t node);
  void ReadIt(std::uint32_t node);
  void LongTime(std::uint32_t);
  void ClientDies(std::uint32_t client);
  void HearOfRead(Node& node, const protocol::NodeAction& action);
  void HearDeleted(std::uint32_t node, Version version);
  void HearOfPut(std::uint32_t node, const protocol::CreateAccepted* accepted);
  void HearAnswer(std::uint32_t node, protocol::OwnerAnswer answer);
  protocol::Create CreateOf(const Node& node) const;
  std::vector<protocol::NodeEvent> InventoryOf(const Node& node) const;
  std::optional<protocol::Owned> OwnedOf(const Node& node) const;
  void Effect(std::uint32_t node, const planner::OwnershipState::Effects& effects);
  static void DropCopy(Node& node);
  void LoseOwners(std::uint32_t node);

  // Time and properties (owner_world_checks.cpp).
  Time NextChange() const override;
  Time NextOfNodes() const override;
  bool MayPass(Time until) const override;
  void TimePassed() override;
  void CheckStep() override;
  void CheckAtRest() override;

  OwnerOptions options_;
  ObjectId object_;
  Layout layout_;
  Time mark_end_;  // of the last deletion: nodes' tombstones end with the shard's
  std::array<Node, 2> nodes_;
  std::array<Client, kClients> clients_{};
  bool ever_ = false;   // the shard heard of an owner
  bool owned_ = false;  // a client was told that it owns
  bool died_ = false;   // a node
  bool long_time_left_ = true;
};

// The search: every state, or so many.
OrdersResult<SessionStep> SearchOwners(const OwnerOptions& options, std::uint64_t most_states);

}  // namespace hoplite::sim
