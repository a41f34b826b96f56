// SmallWorld: the same nodes and the same planner, without time and rates: every order in which
// messages, blocks and faults can happen is a sequence of steps.
//
// Decides nothing: Steps() says what may happen next, Do() lets one of it happen. Messages wait in
// a FIFO queue per session and direction; a block passes in one step; a source answers a fetch in
// one. Time passes only when nothing else moves, or to end the collection of a restarted directory.
// A value type: the search copies it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner_world/cuts.h"
#include "sim/planner_world/pair_witness.h"
#include "sim/planner_world/planted_shard.h"
#include "sim/planner_world/virtual_node.h"
#include "sim/planner_world/virtual_slot.h"
#include "sim/planner_world/witness.h"
#include "sim/small_world/small_reduction.h"

namespace hoplite::sim {

// The receiver can't connect to the source (R68), from the start or, `late`, from any moment on.
struct SmallCut {
  std::uint32_t receiver = 1;
  std::uint32_t source = 0;
  bool both_ways = false;
  bool late = false;
  bool heals = false;  // at any moment
};

struct SmallOptions {
  std::uint32_t nodes = 3;  // node 0 puts the object, the others ask for it
  std::uint32_t blocks = 2;
  std::uint32_t stripes = 1;
  std::uint32_t stride = 1;       // blocks of a stripe that pass in one step
  std::uint32_t deaths = 0;       // of any node, at any moment
  std::uint32_t restarts = 0;     // of the directory
  bool growing = false;           // the producer fills its copy block by block
  bool unequal = false;           // and each stripe by itself, as if several nodes made it
  std::uint32_t window = 0;       // blocks of it through which node 1 reads; 0: it has room for all
  bool waits_for_memory = false;  // node 1 gets memory at any moment
  bool room = false;              // all others hold room for the object while they ask (R63)
  bool loses_room = false;        // node 1 does so until any moment
  bool asks_again = false;       // node 1, or 2 if `inlined`, gives its question up, and asks again
  bool put_again = false;        // one more node puts other bytes, once the first producer is dead
  bool deletes = false;          // the last node deletes the object, at any moment
  bool inlined = false;          // the directory has it, and its link carries one at a time (R83)
  bool joint = false;            // readers want other objects, too: its holder gives (R83)
  bool joins = false;            // node 1 begins to want others, at any moment
  std::uint32_t lost_gives = 0;  // on their way from node to node
  bool slow_link = false;        // node 1's; a better source is always worth a move
  bool two_sites = false;        // every other node is in the second one
  bool looks_on = false;         // the last node does not ask for the object
  std::optional<SmallCut> cut;
  // The sources of the reduction that makes the object; 0: a Put does. Node i has source i, the
  // last node asks for the reduction, node 0 reads its target. Sources that died are put again by
  // the last node.
  std::uint32_t sources = 0;
  std::uint32_t wanted = 0;  // of the sources; 0: all
  // All who have a source read the target, so that it may be made by stripes.
  bool everyone_reads = false;
  bool two_trees = false;  // and is so in two trees
  PlantedFault fault = PlantedFault::kNone;
};

struct Step {
  enum class Kind : std::uint8_t {
    kToDirectory,  // the oldest message of `node` arrives
    kToNode,
    kAnswer,  // the source of stream `index` hears its fetch
    kBlock,   // one block passes on it
    kEnd,     // the stream's source says that it has sent all
    kBreak,   // its receiver hears that the source died or dropped its copy
    kFill,    // the producer has one more block, of stripe `index`
    kMemory,
    kPutAgain,
    kDelete,
    kLoseRoom,
    kAskAgain,
    kReconnect,
    kTime,  // until the planner wants to be asked again
    kDie,
    kRestart,
    kFoldBlock,  // a slot folds one block of a child's output; `index` is their stream
    kFoldEnd,    // and has all of it
    kFoldLost,   // and reports that it can't get it
    kGiveUp,     // the deadline of whatever is open
    kCut,        // two can't connect any more
    kHeal,       // or can again
    kStarve,     // a node says that nothing comes on its streams
    kGive,       // Give `index` arrives at `node`
    kLoseGive,   // or never does
    kJoin,       // a node begins to fetch other objects, too
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
    bool said_starved = false;  // since time passed
    bool asks_in_vain = false;  // the object was deleted when it asked last, and it had heard all
    // First in, first out. Vectors, since a deque that is empty takes memory, and each step of the
    // search copies the world.
    std::vector<std::vector<planner::EventBody>> to_directory;  // batches: an inventory is one
    std::vector<protocol::NodeAction> to_node;
    std::map<std::uint32_t, VirtualSlot> slots;  // slots of the reduction that it executes
    std::map<ObjectId, Version> sources;         // of the reduction, put here
  };
  struct Stream {
    std::uint32_t receiver = 0;
    Fetch fetch;
    StripeMask open = 0;  // stripes that still flow; 0: the source has not answered
    // Its next block was sent and waits for room in the receiver's window.
    std::optional<std::uint32_t> stuck;
    enum class Fate : std::uint8_t { kFlows, kBroken, kGone } fate = Fate::kFlows;
  };

  protocol::NodeInfo InfoOf(std::uint32_t index) const;
  void AddOrdinary(std::vector<Step>& steps) const;
  void AddStreamSteps(std::vector<Step>& steps) const;
  void AddGiveSteps(std::vector<Step>& steps) const;
  protocol::InlineObject TakeGive(std::size_t index);
  void Give(std::uint32_t node, std::size_t index);
  void AddAskAgain(std::vector<Step>& steps) const;
  void AskAgain(std::uint32_t index);
  void CheckGot();
  void AddNodeSteps(std::vector<Step>& steps) const;
  void AddFaults(std::vector<Step>& steps) const;
  bool MayPutAgain() const;

  bool PutsOnOneMore() const { return options_.put_again && options_.sources == 0; }
  void JoinAt(std::uint32_t index);
  void GetAt(std::uint32_t index);
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
  void AddFillSteps(std::uint32_t index, std::vector<Step>& steps) const;
  void Fill(std::uint32_t index, std::uint32_t stripe);
  void Die(std::uint32_t index);
  void Restart();
  void CutOff();
  void Heal();
  bool HasWay(std::uint32_t receiver, std::uint32_t source) const;
  bool MayGet(std::uint32_t receiver) const;
  bool MayFold() const;
  bool WaitsInVain() const;
  std::optional<std::uint32_t> Starving() const;
  void SayStarved(std::uint32_t index);
  void Reconnect(std::uint32_t index);
  void Fail(const std::string& what);
  void Check();

  static std::uint32_t IndexOf(NodeId id) { return static_cast<std::uint32_t>(Raw(id) - 1); }
  const std::optional<VirtualNode::Copy>& SourceCopy(const Stream& stream) const {
    return members_[IndexOf(stream.fetch.source)].node.copy();
  }
  // The stripe of the block that goes next (R19), or none.
  std::optional<std::uint32_t> NextStripeOf(const Stream& stream) const;
  bool HasRoom(const Stream& stream, std::uint32_t stripe) const;
  bool MayEnd(const Stream& stream) const;
  bool Lasts(const Stream& stream) const;
  bool PullsFrom(std::uint32_t source, std::uint32_t receiver, std::uint32_t stripe) const;
  void FailStream(const Stream& stream, protocol::Failure why);
  std::vector<Party> Parties() const;

  // The reduction (small_world_reduce.cpp).
  void StartReduction();
  void PutSource(std::uint32_t index, std::uint32_t source);
  void Say(std::uint32_t index, protocol::NodeEvent event);
  void AddFoldSteps(std::vector<Step>& steps) const;
  void AddLastSteps(std::vector<Step>& steps) const;
  const VirtualSlot* ChildOf(const FoldStream& stream) const;
  StripeMarks OutputOf(std::uint32_t index, const VirtualSlot& slot) const;
  // The stripe that passes next on this stream, and those whose END comes now.
  std::optional<std::uint32_t> FoldsNext(const FoldStream& stream, const VirtualSlot& child) const;
  StripeMask EndsNow(const FoldStream& stream, const VirtualSlot& child) const;
  void NoteFolded(std::uint32_t index, VirtualSlot& slot);
  void GrowTarget(std::uint32_t index, const VirtualSlot& slot);
  void SayFull(std::uint32_t index);
  void FoldBlock(std::size_t index);
  void FoldEnd(std::size_t index);
  void FoldLost(std::size_t index);
  FoldStream TakeFold(std::size_t index);
  bool HearReduce(std::uint32_t index, const protocol::NodeAction& action);
  void StartSlot(std::uint32_t index, const protocol::SlotAssigned& order);
  void DriveSlot(std::uint32_t index, VirtualSlot& slot, planner::SlotState::Effects effects = {});
  void DropSlot(std::uint32_t index, std::uint32_t number);
  void TargetCommitted(std::uint32_t index, const Version& version);
  bool HearCoordinator(std::uint32_t index, const protocol::NodeAction& action);
  void Drive();
  void EndReduce(const Error* why);
  void GiveUp();
  void GiveUpReduction();
  void SayOrders(std::vector<protocol::NodeEvent> orders);
  std::size_t AvailableSources() const;
  std::size_t WantedSources() const;
  std::optional<std::uint32_t> LostSource() const;
  void KillSlots(std::uint32_t index);
  void AddInventory(std::uint32_t index, std::vector<protocol::NodeEvent>& events);
  void CheckReduce(const std::vector<planner::Action>& actions);
  void CheckReader(const VirtualNode& node);
  std::string CheckReduceAtRest() const;

  Time NextTime() const { return reduction_ ? std::min(plan_at_, reduction_->drive_at) : plan_at_; }
  planner::DirectoryOptions DirectoryOptionsOf(std::uint64_t incarnation) const;

  SmallOptions options_;
  ObjectId object_;
  Layout layout_;
  PlantedShard directory_;
  std::uint64_t incarnation_ = 1;
  Time now_{};
  Time plan_at_ = kNever;
  std::vector<Member> members_;
  std::vector<Stream> streams_;
  std::vector<protocol::HandedOn> gives_;  // on their way; any may be the next to arrive
  std::uint32_t lost_gives_left_;
  std::uint32_t deaths_left_;
  std::uint32_t restarts_left_;
  bool put_again_left_;
  bool delete_left_;
  bool lose_room_left_;
  bool ask_again_left_;
  bool join_left_;
  std::uint32_t waits_ = 0;  // how often time has passed
  Cuts cuts_;
  bool cut_left_ = false;
  bool heal_left_ = false;
  // How often time has passed since a pair was cut or healed. Counts where one is.
  std::uint32_t waits_for_way_ = 0;
  std::optional<PairWitness> pairs_;
  Witness witness_;
  std::optional<SmallReduction> reduction_;
  std::string violation_;
};

}  // namespace hoplite::sim
