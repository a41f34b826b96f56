// RegisterWorld: one register, in every order of events: three nodes, one shard. A has claimed it and
// writes; B takes over; R waits for what is new, and a second client beside A perhaps asks for what is there.
//
// Decides nothing: Steps() says what may happen next, Do() lets one of it happen. The real
// planner::DirectoryState and planner::RegisterState; sessions are as simple as they can be. Messages
// wait in a queue per session and direction; what a broken session leaves is read late, or lost; an
// inventory is one message. Time passes to the next moment at which something is due, when nothing
// is under way, or within a second of it. Safety is checked after each step, liveness at rest. A value
// type: the search copies it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "planner/node/register_state.h"
#include "planner/shard/directory_state.h"
#include "sim/kit/every_order.h"

namespace hoplite::sim {

// Each breaks one part of the rules R90-R96, at the edge of a shard, a node or a client.
enum class RegisterFault : std::uint8_t {
  kNone,
  kAnyNumber,      // a write is done whatever the register's number is
  kNumberOfNode,   // a write names the number that its node knows
  kOldClock,       // a restarted shard counts its lives from the beginning
  kTellsNothing,   // inventories do not say what the register holds
  kNoClaims,       // inventories do not say who is its writer
  kNoCalls,        // inventories do not repeat what is not answered
  kAnswersAtOnce,  // a restarted shard does not wait for what nodes know
  kNewAttempts,    // a repeated call goes by a new number
  kNoFloor,        // the shard takes words that are left of an older session
  kNeverEnds,      // the shard keeps what an inventory did not repeat
  kClaimsUnheard,  // a claim is answered before the writer has heard of it
  kGoneUnasked,    // that there is no writer was said before somebody waited
  kRefusesDone,    // a write that was done is answered by what was written over it
};

enum class RegisterStart : std::uint8_t {
  kClaimedByA,
  kClaimedByB,  // after A, whose node has heard of it
  kWithoutA,    // A's node was lost before B claimed it, and A knows nothing
};

struct RegisterOptions {
  RegisterStart start = RegisterStart::kClaimedByA;
  std::array<std::uint32_t, 2> writes{1, 1};  // of A and B, besides claims
  std::uint32_t claims = 1;                   // of B
  std::uint32_t reads = 0;                    // of each reader; 0: there is none
  bool second_reader = false;                 // beside A
  std::uint32_t overs = 0;                    // writes of R, over whatever its node knows
  std::uint32_t breaks = 0;
  std::uint32_t restarts = 0;
  std::uint32_t node_deaths = 0;  // of A's or B's
  std::uint32_t given_up = 0;     // writes
  RegisterFault fault = RegisterFault::kNone;
};

struct RegisterStep {
  enum class Kind : std::uint8_t {
    kToShard,    // the oldest message of node `who` arrives
    kToNode,     // the oldest one for it
    kLeftOver,   // the shard reads what is left of an old session of it
    kForgotten,  // the rest of that is lost
    kConnect,
    kTime,   // until something is due
    kWrite,  // by client `who`
    kClaim,
    kGiveUp,
    kRead,
    kClose,
    kBreak,
    kRestart,
    kNodeDies,
  };
  Kind kind;
  std::uint32_t who = 0;
};
std::string ToString(const RegisterStep& step);

class RegisterWorld {
 public:
  explicit RegisterWorld(const RegisterOptions& options);

  std::vector<RegisterStep> Steps() const;
  bool AtRest() const;
  void Do(const RegisterStep& step);
  const std::string& violation() const { return violation_; }
  std::uint64_t Fingerprint() const;

 private:
  static constexpr std::uint32_t kNodes = 3;
  static constexpr std::uint32_t kA = 0;  // clients
  static constexpr std::uint32_t kB = 1;
  static constexpr std::uint32_t kR = 2;
  static constexpr std::uint32_t kBesideA = 3;
  static constexpr std::uint32_t kClients = 4;

  enum class State : std::uint8_t {
    kClosed,  // also: not yet open, or dead
    kIdle,    // has it open
    kWriter,  // and claimed it
    kWrites,  // is the writer, and waits for a write
    kClaims,  // waits for a claim
    kWaits,   // reads
    kEnded,   // reads no more: there is no writer
  };
  struct Client {
    State state = State::kClosed;
    Version base;            // the newest number that it was told
    std::uint32_t left = 0;  // writes or reads
    std::uint32_t claims_left = 0;
    std::uint32_t written = 0;
    planner::RegisterState::Ticket ticket = 0;  // the last
    bool promised = false;                      // its claim was acknowledged, and holds
    bool gave_up = false;                       // a write of it, perhaps done
    // When it asked: the highest number that was acknowledged or read; whether each of A and B had heard that
    // it is the writer.
    Version floor;
    std::array<bool, 2> promised_then{};
  };
  struct Node {
    planner::RegisterState registers;
    bool alive = true;
    bool open = false;   // its session, at both ends
    bool known = false;  // to the shard
    bool told = false;   // its inventory, in this session
    Time unheard_since;  // while it is not: the end of the last session in which it was
    Time away_since;     // while it is not open
    bool lost = false;   // once
    std::uint64_t session = 0;
    std::optional<protocol::RegisterNews> heard;  // last
    std::vector<std::vector<planner::EventBody>> to_shard;
    std::vector<protocol::NodeAction> to_node;
    std::vector<protocol::RegisterUse> left_over;
  };

  static NodeId IdOf(std::uint32_t node) { return NodeId{node + 1}; }
  static std::uint32_t NodeOf(std::uint32_t client) { return client == kBesideA ? 0 : client; }
  // R is there to read or to write.
  std::uint32_t nodes() const { return options_.reads + options_.overs == 0 ? kNodes - 1 : kNodes; }
  static std::string ValueOf(std::uint32_t client, std::uint32_t written);
  static bool Publishes(std::uint32_t client) { return client <= kB; }
  static bool Waits(State state) {
    return state == State::kWrites || state == State::kClaims || state == State::kWaits;
  }
  planner::DirectoryOptions DirectoryOptionsOf(std::uint64_t incarnation, bool restarted) const;
  bool Faulty(RegisterFault fault) const { return options_.fault == fault; }

  void AddOrdinary(std::vector<RegisterStep>& steps) const;
  void AddCalls(std::vector<RegisterStep>& steps) const;
  void AddFaults(std::vector<RegisterStep>& steps) const;
  bool Takes(std::uint32_t client) const;  // part
  bool Quiet() const;
  void Settle();  // all that is under way arrives

  // Clients and nodes (register_world.cpp).
  void Open(std::uint32_t client);
  void Write(std::uint32_t client, bool claims);
  void GiveUp(std::uint32_t client);
  void Read(std::uint32_t client);
  void Close(std::uint32_t client);
  void Effect(std::uint32_t node, const planner::RegisterState::Effects& effects);
  void Hear(std::uint32_t client, const planner::RegisterState::Answered& answered);
  void HearOfWrite(std::uint32_t client, const planner::RegisterState::Answered& answered);
  void Say(std::uint32_t node, protocol::NodeEvent event);
  void ToNode(std::uint32_t node);
  void AnswerFromMemory(std::uint32_t node, const protocol::NodeEvent& event);

  // Sessions, the shard and time (register_world_sessions.cpp).
  void ToShard(std::uint32_t node);
  void LeftOver(std::uint32_t node);
  void Connect(std::uint32_t node);
  std::vector<planner::EventBody> InventoryOf(std::uint32_t node);
  void Break(std::uint32_t node, bool leaves_words);
  Time LostAt(const Node& node) const;  // the end of its grace
  void Lose(std::uint32_t node);
  void Restart();
  void NodeDies(std::uint32_t node);
  void Tell(planner::EventBody event);
  void Plan();
  Time NextChange() const;
  void AdvanceTo(Time time);

  // Properties (register_world_checks.cpp).
  void Fail(const std::string& what);
  void Check();
  void NoteWrite(const protocol::RegisterContents& entry);
  bool WasDone(std::uint32_t client) const;  // its last write, as far as its shard must know
  void CheckRead(std::uint32_t client, const planner::RegisterState::Answered& answered);
  void CheckNoWriter(std::uint32_t client);
  bool Known(Version version) const;  // to a node that has told its inventory
  void CheckAtRest();

  RegisterOptions options_;
  ObjectId name_;
  Time now_ = Time(std::chrono::hours(1));
  planner::DirectoryState shard_;
  std::uint64_t incarnation_ = 1;
  Time plan_at_ = kNever;
  std::array<Node, kNodes> nodes_;
  std::array<Client, kClients> clients_;
  std::map<Version, std::string> values_;  // of each number that was given
  Version acknowledged_;                   // the highest, or read
  bool b_claimed_ = false;                 // its claim was done once
  std::string violation_;
};

// The search: every state, or so many.
OrdersResult<RegisterStep> SearchRegisters(const RegisterOptions& options,
                                           std::uint64_t most_states);
std::string ToString(const OrdersResult<RegisterStep>& result);

}  // namespace hoplite::sim
