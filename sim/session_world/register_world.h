// RegisterWorld: a world of sessions whose clients have one register open: three nodes. A has claimed
// it and writes; B takes over; R waits for what is new, and a second client beside A perhaps asks for
// what is there. The real planner::RegisterState.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/object_id.h>

#include "base/time.h"
#include "planner/node/register_state.h"
#include "sim/session_world/session_world.h"

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

class RegisterWorld final : public SessionWorld {
 public:
  explicit RegisterWorld(const RegisterOptions& options);

 private:
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
    bool lost = false;  // once
    std::uint64_t session = 0;
    std::optional<protocol::RegisterNews> heard;  // last
  };

  static std::uint32_t NodeOf(std::uint32_t client) { return client == kBesideA ? 0 : client; }
  static std::string ValueOf(std::uint32_t client, std::uint32_t written);
  static bool Publishes(std::uint32_t client) { return client <= kB; }
  static bool Waits(State state) {
    return state == State::kWrites || state == State::kClaims || state == State::kWaits;
  }
  bool Faulty(RegisterFault fault) const { return options_.fault == fault; }
  bool Takes(std::uint32_t client) const;  // part

  // Clients, nodes and sessions (register_world.cpp).
  void AddCalls(std::vector<SessionStep>& steps) const override;
  void AddState(Digest& digest) const override;
  void Open(std::uint32_t client);
  void Write(std::uint32_t client, bool claims);
  void WriteNext(std::uint32_t client) { Write(client, false); }
  void Claim(std::uint32_t client);
  void GiveUp(std::uint32_t client);
  void Read(std::uint32_t client);
  void Close(std::uint32_t client);
  void HearAnswer(std::uint32_t client, const planner::RegisterState::Answered& answered);
  void HearOfWrite(std::uint32_t client, const planner::RegisterState::Answered& answered);
  void Join(std::uint32_t node) override;
  void Hear(std::uint32_t node, const protocol::NodeAction& action) override;
  void Ended(std::uint32_t node) override { nodes_[node].registers.SessionEnded(); }
  void Died(std::uint32_t node) override;
  void Tell(planner::EventBody event) override;
  void Answered(planner::Action& action) override;
  std::vector<protocol::NodeEvent> InventoryOf(Node& node) const;
  void Effect(std::uint32_t node, const planner::RegisterState::Effects& effects);
  void HearNews(std::uint32_t node, const protocol::RegisterNews& news);
  void AnswerFromMemory(std::uint32_t node, const protocol::NodeEvent& event);

  // Time and properties (register_world_checks.cpp).
  void TimePassed() override;
  void NoteWrite(const protocol::RegisterContents& entry);
  bool WasDone(std::uint32_t client) const;  // its last write, as far as its shard must know
  void CheckRead(std::uint32_t client, const planner::RegisterState::Answered& answered);
  void CheckNoWriter(std::uint32_t client);
  bool Known(Version version) const;  // to a node that has told its inventory
  void CheckAtRest() override;

  RegisterOptions options_;
  ObjectId name_;
  std::array<Node, 3> nodes_;
  std::array<Client, kClients> clients_;
  std::map<Version, std::string> values_;  // of each number that was given
  Version acknowledged_;                   // the highest, or read
  bool b_claimed_ = false;                 // its claim was done once
};

// The search: every state, or so many.
OrdersResult<SessionStep> SearchRegisters(const RegisterOptions& options,
                                          std::uint64_t most_states);

}  // namespace hoplite::sim
