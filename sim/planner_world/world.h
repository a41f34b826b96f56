// World: virtual nodes, the network between them and one directory shard, in virtual time. Several
// worlds, each with an object and a shard of its own, may share the links (allgather.h).
//
// Decides: when messages and bytes arrive, and what the faults do. Is told: a script of moments
// (Get, Put, Delete, Kill …). The shard is the real DirectoryState; the nodes are VirtualNodes.
// Must never: help a node with knowledge that it could not have. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "planner/reduce/reduce_coordinator.h"
#include "sim/kit/event_queue.h"
#include "sim/kit/noise.h"
#include "sim/kit/random.h"
#include "sim/planner_world/cuts.h"
#include "sim/planner_world/network_part.h"
#include "sim/planner_world/options.h"
#include "sim/planner_world/pair_witness.h"
#include "sim/planner_world/planted_shard.h"
#include "sim/planner_world/reduce_witness.h"
#include "sim/planner_world/virtual_node.h"
#include "sim/planner_world/virtual_slot.h"
#include "sim/planner_world/witness.h"

namespace hoplite::sim {

// Time for the nodes to join and for a finished Put, before the clock of a history starts.
constexpr Duration WarmUp(const Options& options) {
  return 10 * options.latency + 2 * (options.noise.late + options.noise.stall);
}

struct Member {
  explicit Member(VirtualNode node_in) : node(std::move(node_in)) {}

  VirtualNode node;
  bool alive = true;
  Time memory_free{};            // before that a copy can't be reserved
  std::uint64_t connection = 0;  // counts its sessions; messages of an older one are lost
  std::uint64_t heard = 0;       // the session that the directory knows of
  std::uint64_t lost_in = 0;     // the life of the directory that declared it lost, until it hears
  std::optional<Time> asked;
  std::optional<Time> returned;
  std::vector<std::uint32_t> depths;  // in the tree of each stripe, as it pulled
  bool reporting = false;
  Time flowing;  // when bytes came last

  std::map<std::uint32_t, VirtualSlot> slots;  // slots of the reduction that it executes
  std::map<ObjectId, Version> sources;         // of the reduction, put here
  std::set<ObjectId> putting;                  // not accepted yet
  std::optional<Time> whole_since;             // its copy
  Version told_full;  // the version of which it said that it lacks nothing but END
};

// A stripe whose bytes have come, but for the word that they are final.
struct EndWait {
  NodeIndex source = 0;
  NodeIndex receiver = 0;
  GrantId grant;
  std::uint32_t stripe = 0;
};

// The reduction whose target the world's object is.
struct Reduction {
  Reduction(const ReduceOptions& options, NodeIndex node, std::uint32_t stripes,
            planner::StripePlans allowed);

  static constexpr std::uint64_t kRequest = 1;
  ReduceOptions options;
  NodeIndex node;  // whose client asked for it
  planner::ReduceCoordinator coordinator;
  ReduceWitness witness;
  bool asked = false;
  bool ended = false;
  std::optional<Time> committed_at;
  Time drive_at = kNever;
};

class World {
 public:
  explicit World(const Options& options);
  // Over links that others use, too: whoever drives them all calls Turn, not Run.
  World(const Options& options, const ObjectId& object, std::shared_ptr<Network> links);

  // --- the script, from inside At() or before Run()
  void At(Time when, std::function<void()> what) { queue_.Push(when, std::move(what)); }
  NodeIndex AddNode();
  // It is that machine of shared links.
  NodeIndex AddNodeAt(NodeIndex machine);
  void Get(NodeIndex index);
  // The members may ask, and be measured, once more.
  void ForgetGets();
  void Put(NodeIndex index, Content content);
  void Delete(NodeIndex index);
  // A source of the reduction appears on this node.
  void PutSource(NodeIndex index, const ObjectId& source);
  void Reduce(const ReduceOptions& request, NodeIndex coordinator);
  void Cancel(NodeIndex index);
  void Evict(NodeIndex index);
  void Subscribe(NodeIndex index);
  // The node fetches objects of other worlds, too.
  void SetJoint(NodeIndex index) { CallOf(index, &VirtualNode::Join); }
  void Kill(NodeIndex index);
  void BreakSession(NodeIndex index, Duration duration);
  void RestartDirectory();
  // From now on the receiver can't connect to the source (R68), and what it pulls from there breaks.
  void CutOff(NodeIndex receiver, NodeIndex source);
  void Heal(NodeIndex receiver, NodeIndex source);
  // As the options say, at moments of this time that are drawn now.
  void WriteCuts(Time start, Duration horizon);
  // Of a Get where two can't connect.
  static constexpr Duration kPatience = std::chrono::seconds(60);
  // Whoever waits now, and gets nothing, gives up, and must have had a reason for that.
  void GiveUpGets();
  // The node's links, from now on.
  void SetRate(NodeIndex index, double bytes_per_second) {
    network_.SetRate(index, bytes_per_second);
  }
  void SetMemoryFree(NodeIndex index, Time when);

  // Until nothing moves any more, or a property is broken.
  void Run();

  // When something happens here, but for what the links do.
  Time next_event() const { return std::min(queue_.next_time(), plan_at_); }
  // Messages and decisions of one instant, after the links brought these; others' are left out.
  void Turn(Time now, std::span<const Network::Whole> whole);
  // After the last instant.
  void CheckAtRest();

  Time now() const { return now_; }
  Random& random() { return random_; }
  const Options& options() const { return options_; }
  const std::vector<Member>& members() const { return members_; }
  const Network& network() const { return network_.whole(); }
  // Of receivers from source to source, as the directory granted.
  std::uint64_t moves() const { return moves_; }
  // The moves of trials, which count apart.
  std::uint64_t trials() const { return trials_; }
  // What the directory was shown that this node's link carries, in bytes per second.
  double ShownOf(NodeIndex index) const;
  std::uint64_t events() const { return events_ + network().events(); }
  // A digest of all that the directory was told and answered, with the times.
  std::uint64_t digest() const { return digest_.value(); }
  const std::string& violation() const { return violation_; }
  const std::optional<Reduction>& reduction() const { return reduction_; }
  const ObjectId& object() const { return object_; }

 private:
  using Call = void (VirtualNode::*)(Effects&);

  void CallOf(NodeIndex index, Call call);
  void After(Duration delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }
  NodeIndex Join(NodeIndex index);
  void SetLinks(NodeIndex index);
  std::string SiteName(NodeIndex index) const;
  std::uint64_t DeclaredRate(NodeIndex index) const;
  void Step(Time when);
  void Plan();
  void Check();
  void Fail(const std::string& what);  // the first one counts; empty: nothing is broken
  std::vector<Party> Parties() const;
  void StartDirectory(Duration recovery_window);

  // Sessions (world_sessions.cpp).
  void Connect(NodeIndex index);
  // The directory hears it one latency from now, or later. Answers with that time.
  Time Tell(planner::EventBody body);
  void Deliver(NodeId to, protocol::NodeAction action);
  void LoseAfterGrace(NodeIndex index);

  // Who can't connect to whom (world_cuts.cpp).
  bool HasWay(NodeIndex receiver, NodeIndex source) const;
  bool MayGet(NodeIndex receiver) const;
  std::string WhyNoPlan() const;
  void HelpFor(NodeIndex index, Time since);
  struct Rest {  // what must not change for a receiver to be tried again
    std::uint64_t life;
    std::uint64_t connections;
    bool operator==(const Rest&) const = default;
  };
  Rest RestOf(NodeIndex receiver, NodeIndex source) const;
  bool WaitsFor(NodeIndex receiver, NodeIndex source) const;

  // Bytes (world_bytes.cpp).
  void Do(NodeIndex index, const Effects& effects);
  void HandOn(NodeIndex from, const protocol::HandedOn& give);
  void Reserve(NodeIndex index);
  void Fill(NodeIndex index);
  void SyncMarks(NodeIndex index);
  void SetMarks(NodeIndex index, bool full, Content content);
  bool Holds(NodeIndex source, const Fetch& fetch, protocol::Failure why, Time since) const;
  void FetchArrives(NodeIndex receiver, const Fetch& fetch, Time since);
  void Accept(NodeIndex receiver, const Fetch& fetch, NodeIndex source);
  void FailStream(NodeIndex receiver, GrantId grant, protocol::Failure why);
  void EndStream(NodeIndex receiver, GrantId grant);
  void EndOutgoing(NodeIndex source, std::function<void(NodeIndex, GrantId)> tell);
  void BreakBetween(NodeIndex receiver, NodeIndex source);
  void OnWhole(const Network::Whole& whole);
  // END (world_ends.cpp).
  void StripeArrived(const Network::Whole& whole, NodeIndex source);
  void EndArrives(const EndWait& wait);
  void NoteWhole(NodeIndex index);
  void SayFull(NodeIndex index);
  bool SomeoneHasAll(const Version& version);
  void Report(NodeIndex index);
  void StartReporting(NodeIndex index);
  bool PullsFrom(NodeIndex source, NodeIndex receiver, std::uint32_t stripe) const;

  // The coordinator (world_coordinator.cpp).
  void Drive();
  void GiveUp();
  void SayOrders(std::vector<protocol::NodeEvent> orders);
  void EndReduce(const Error* why);
  bool HearCoordinator(NodeIndex index, const protocol::NodeAction& action);
  void AddInventory(NodeIndex index, std::vector<protocol::NodeEvent>& events);
  void CheckReduce();
  std::string CheckReduceAtRest() const;

  // Participants (world_slots.cpp).
  bool HearReduce(NodeIndex index, const protocol::NodeAction& action);
  void StartSlot(NodeIndex index, const protocol::SlotAssigned& order);
  void DriveSlot(NodeIndex index, std::uint32_t slot, planner::SlotState::Effects effects = {});
  void BeginFold(NodeIndex index, VirtualSlot& slot);
  void PullChild(NodeIndex index, VirtualSlot& slot, const planner::SlotState::Effects::Pull& pull);
  void DropSlot(NodeIndex index, std::uint32_t slot);
  void KillSlots(NodeIndex index);
  void StopStreams(const VirtualSlot& slot, protocol::Failure why);
  void BreakSlotStreams(NodeIndex receiver, NodeIndex source);
  void FetchSlot(NodeIndex copy, StripeMask stripes);
  void SlotStreamsEnded(NodeIndex copy, protocol::Failure why);
  void UnfoldParts(NodeIndex index);
  void StripeFolded(NodeIndex index, VirtualSlot& slot, std::uint32_t stripe);
  bool OnSlotWhole(const Network::Whole& whole);
  void OnStripeWhole(VirtualSlot& slot, std::uint32_t input, std::uint32_t stripe,
                     planner::SlotState::Effects& effects);
  void TargetCommitted(NodeIndex index, const Version& version);
  void Say(NodeIndex index, protocol::NodeEvent event);
  struct SlotRef {
    NodeIndex node = 0;
    std::uint32_t slot = 0;
    std::uint32_t input = 0;  // 0: its output
  };
  NodeIndex AddSlotCopy(const SlotRef& ref);
  // Null if it is none, or the copy belongs to an attempt that is over.
  VirtualSlot* SlotOf(NodeIndex index, std::uint32_t slot);
  VirtualSlot* SlotAt(NodeIndex copy);
  std::map<std::uint32_t, VirtualSlot>::iterator RootAt(NodeIndex index);

  static NodeIndex IndexOf(NodeId id) { return static_cast<NodeIndex>(Raw(id) - 1); }

  Options options_;
  Layout layout_;
  ObjectId object_;
  Random random_;
  Lateness lateness_;
  Time now_{};
  EventQueue<std::function<void()>> queue_;
  const std::shared_ptr<Network> links_;
  NetworkPart network_;
  std::vector<Network::Whole> whole_;  // scratch
  std::vector<Member> members_;
  std::vector<GrantId> grants_;  // of each flow
  // Versions of the target that several roots make: they are final with the commit only.
  std::set<Version> made_in_parts_;
  std::vector<EndWait> end_waits_;

  std::optional<PlantedShard> directory_;  // none while it is down
  std::uint64_t directory_life_ = 0;
  Time plan_at_ = kNever;
  std::vector<planner::Action> actions_;  // scratch

  Witness witness_;
  Cuts cuts_;
  std::optional<PairWitness> pairs_;  // none where no pair is ever cut
  std::optional<Reduction> reduction_;
  std::map<NodeIndex, SlotRef> slot_refs_;  // by copy
  Digest digest_;
  std::uint64_t events_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t trials_ = 0;
  std::uint64_t checked_ = 0;
  std::string violation_;
};

}  // namespace hoplite::sim
