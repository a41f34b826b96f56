// SmallWorld: the same nodes and the same planner, without time and rates: every order in which
// messages, blocks and faults can happen is a sequence of steps.
//
// Decides nothing: Steps() says what may happen next, Do() lets one of it happen. Messages wait in
// a FIFO queue per session and direction; a block passes in one step; a source answers a fetch in
// one. Time passes only when nothing else moves, or to end the collection of a restarted directory.
// A value type: the search copies it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "planner/directory_state.h"
#include "sim/virtual_node.h"
#include "sim/witness.h"

namespace hoplite::sim {

struct SmallOptions {
  std::uint32_t nodes = 3;  // node 0 puts the object, the others ask for it
  std::uint32_t blocks = 2;
  std::uint32_t stripes = 1;
  std::uint32_t deaths = 0;       // of any node, at any moment
  std::uint32_t restarts = 0;     // of the directory
  bool growing = false;           // the producer fills its copy block by block
  bool waits_for_memory = false;  // node 1 gets memory at any moment
  bool put_again = false;         // one more node puts other bytes, once the first producer is dead
  bool deletes = false;           // the last node deletes the object, at any moment
  planner::Twin twin = planner::Twin::kNone;
  bool ask_planner = true;  // false: only what the world finds out by itself counts
};

struct Step {
  enum class Kind : std::uint8_t {
    kToDirectory,  // the oldest message of `node` arrives
    kToNode,
    kAnswer,  // the source of stream `index` hears its fetch
    kBlock,   // one block passes on it
    kEnd,     // it is through, and its source says so
    kBreak,   // its receiver hears that the source died or dropped its copy
    kFill,    // the producer has one more block
    kMemory,
    kPutAgain,
    kDelete,
    kReconnect,
    kTime,  // until the planner wants to be asked again
    kDie,
    kRestart,
  };
  Kind kind;
  std::uint32_t node = 0;
  std::uint32_t index = 0;
};
std::string ToString(const Step& step);

class SmallWorld {
 public:
  explicit SmallWorld(const SmallOptions& options);

  std::vector<Step> Steps() const;
  bool AtRest() const;  // nothing but a fault can happen
  void Do(const Step& step);

  const std::string& violation() const { return violation_; }
  std::uint64_t Fingerprint() const;

 private:
  struct Member {
    VirtualNode node;
    bool alive = true;
    bool has_memory = true;
    bool wants_memory = false;
    std::deque<std::vector<planner::EventBody>> to_directory;  // batches: an inventory is one
    std::deque<planner::NodeAction> to_node;
  };
  struct Stream {
    std::uint32_t receiver = 0;
    Fetch fetch;
    StripeMask open = 0;  // stripes that still flow; 0: the source has not answered
    enum class Fate : std::uint8_t { kFlows, kBroken, kRecalled, kDeleted } fate = Fate::kFlows;
  };

  void AddOrdinary(std::vector<Step>& steps) const;
  void AddStreamSteps(std::vector<Step>& steps) const;
  void AddNodeSteps(std::vector<Step>& steps) const;
  void AddFaults(std::vector<Step>& steps) const;

  void Effect(std::uint32_t index, const Effects& effects);
  void Reserve(std::uint32_t index);
  void Tell(std::uint32_t index, planner::EventBody event) {
    members_[index].to_directory.push_back({std::move(event)});
  }
  void ToDirectory(std::uint32_t index);
  void ToNode(std::uint32_t index);
  void Plan();
  void Answer(std::size_t index);
  void Block(std::size_t index);
  void End(std::size_t index);
  void Break(std::size_t index);
  void Fill(std::uint32_t index);
  void Die(std::uint32_t index);
  void Restart();
  void Reconnect(std::uint32_t index);
  void Fail(const std::string& what);
  void Check();

  static std::uint32_t IndexOf(NodeId id) { return static_cast<std::uint32_t>(Raw(id) - 1); }
  const std::optional<VirtualNode::Copy>& SourceCopy(const Stream& stream) const {
    return members_[IndexOf(stream.fetch.source)].node.copy();
  }
  // The lowest stripe of the stream whose next block its source has, or none.
  std::optional<std::uint32_t> NextStripe(const Stream& stream) const;
  bool MayEnd(const Stream& stream) const;
  bool PullsFrom(std::uint32_t source, std::uint32_t receiver, std::uint32_t stripe) const;
  void FailStream(const Stream& stream, planner::Failure why);
  std::vector<Party> Parties() const;
  planner::DirectoryOptions DirectoryOptionsOf(std::uint64_t incarnation) const;

  SmallOptions options_;
  ObjectId object_;
  Layout layout_;
  planner::DirectoryState directory_;
  std::uint64_t incarnation_ = 1;
  Time now_{};
  Time plan_at_ = kNever;
  std::vector<Member> members_;
  std::vector<Stream> streams_;
  std::uint32_t deaths_left_;
  std::uint32_t restarts_left_;
  bool put_again_left_;
  bool delete_left_;
  std::uint32_t waits_ = 0;  // how often time has passed
  Witness witness_;
  std::string violation_;
};

}  // namespace hoplite::sim
