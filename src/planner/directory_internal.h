// The inside of DirectoryState. Each group of members has a source file of its own:
//
//   directory_state.cpp   Apply, Plan and what the others share
//   creation.cpp          versions, inline objects, who hears of an object (R1-R4, R16)
//   transfers.cpp         wants, closed grants, facts about copies (R5-R12)
//   membership.cpp        join, suspend, lose (R13, R14)
//   recovery.cpp          inventories (R15)
//   removal.cpp           delete, evict (R17, R18)
//   reductions.cpp        attempts, orders, commit (R29-R36)
//   views.cpp, invariants.cpp, fingerprint.cpp
//
// On records what was said; Resolve and RunPass run from Plan and decide.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "planner/directory_state.h"
#include "planner/expiring.h"
#include "planner/node_table.h"
#include "planner/object_record.h"
#include "planner/source_selector.h"
#include "planner/stamps.h"
#include "planner/sweeps.h"

namespace hoplite::planner {

// Newer than what it deletes, older than what is put after it.
struct DeletionMark {
  Version version;
  bool repeated = false;  // by a node: it may have ended before, and the object been put again
};

// Said while the shard collected, in that session of its node.
struct Deferred {
  NodeId node;
  std::uint64_t session = 0;
  NodeEvent event;
};

struct DirectoryState::State {
  State(const DirectoryOptions& options_in, Time start);

  // directory_state.cpp
  void Tick(Time time);
  Time CollectingUntil() const;
  // Up to a slice of what is to be done: what events touched first, then the sweeps.
  void Work();
  bool due() const;
  // What happened to the object's members, and what was said of it, before now.
  void CatchUp(const ObjectId& id);
  void SayDeferred(const ObjectId& id);
  void Settle(const ObjectId& id);
  void RunPass(const ObjectId& id, ObjectRecord& record);
  Time NextTime() const;
  bool knows_members() const { return !collecting && nodes.open_inventories() == 0; }
  void Dispatch(NodeId node, const NodeEvent& event);
  ObjectRecord* Find(const ObjectId& id);
  ObjectRecord& Touch(const ObjectId& id, NodeId node);
  void Send(NodeId to, NodeAction body);
  void Notify(const ObjectId& id, const ObjectRecord& record, NodeId node, LocationKind kind);
  Location LocationOf(const ObjectId& id, const ObjectRecord& record, NodeId node,
                      LocationKind kind) const;
  void TellLost(const ObjectId& id, const ObjectRecord& record);
  // The copy is no more: whoever pulled from it is served first; waiters hear of a last holder.
  void DropCopy(const ObjectId& id, ObjectRecord& record, NodeId node);
  void Later(NodeId node, const NodeEvent& event);
  // Answers Deleted and returns true if the object has a mark.
  bool AnswerDeleted(const ObjectId& id, NodeId node);

  // creation.cpp
  void On(NodeId node, const Create& event);
  void On(NodeId node, const Withdraw& event);
  void On(NodeId node, const Locate& event);
  void On(NodeId node, const CancelLocate& event);
  void On(NodeId node, const Subscribe& event);
  void On(NodeId node, const Unsubscribe& event);
  void ResolveCreates(const ObjectId& id, ObjectRecord& record);
  void ResolveLocates(const ObjectId& id, ObjectRecord& record);
  void Accept(const ObjectId& id, ObjectRecord& record, const PendingCreate& create);
  void Refuse(const ObjectId& id, NodeId node, ErrorCode code, std::string message);
  // A new version is current: older copies are void, their nodes told.
  void StartVersion(const ObjectId& id, ObjectRecord& record, Version version, const Layout& layout,
                    const std::string& metadata);
  bool KeepInline(ObjectRecord& record, const InlineBytes& bytes);  // whether they were kept
  void DropInline(ObjectRecord& record);

  // transfers.cpp
  void On(NodeId node, const Want& event);
  void On(NodeId node, const CancelWant& event);
  void On(NodeId node, const GrantClosed& event);
  void On(NodeId node, const CopyComplete& event);
  void On(NodeId node, const CopyGone& event);
  void On(NodeId node, const Progress& event);
  // What a node measured of its link; 0: no sample.
  void NoteLink(NodeId node, std::uint64_t bytes_per_second, Duration round_trip);
  void GrantFailed(ObjectRecord& record, NodeId node, const OpenGrant& grant,
                   const GrantClosed& event);
  // Null, or the record if `version` is current; otherwise the node was told that it is void.
  ObjectRecord* Current(NodeId node, const ObjectId& id, Version version);

  // reductions.cpp
  void On(NodeId node, const ReduceOpen& event);
  void On(NodeId node, const ReduceShape& event);
  void On(NodeId node, const SlotAssign& event);
  void On(NodeId node, const ReduceClose& event);
  void On(NodeId node, const SlotFailed& event);
  void On(NodeId node, const SlotDrained& event);
  void On(NodeId node, const ReduceCommit& event);
  void On(NodeId node, const SlotProgress& event);
  void ResolveOpens(const ObjectId& id, ObjectRecord& record);
  // Null, or the node's request that was not answered yet.
  PendingOpen* Pending(NodeId node, const ObjectId& id, std::uint64_t request);
  // Null, or the node's reduction that is still open.
  ReductionRecord* OpenReduction(NodeId node, const ObjectId& id, std::uint64_t request);
  // Null, or the slot whose present attempt the node executes.
  SlotRecord* Executes(NodeId node, const ObjectId& id, std::uint32_t slot, Version version);
  SlotRecord* InputOf(NodeId node, const ObjectId& id, std::uint32_t slot, Version version,
                      std::uint32_t input, Version input_version);
  void RepeatToCoordinator(const ObjectId& id, const ReductionRecord& reduction);
  void ResumeReduction(const ObjectId& id, ObjectRecord& record, NodeId node);
  void RepeatOrders(const ObjectId& id, ObjectRecord& record, NodeId node);
  bool Committed(const ObjectRecord& record, Version version) const;
  static void NoteSlot(ObjectRecord& record, NodeId node, std::uint32_t slot);
  void NewAttempt(const ObjectId& id, ObjectRecord& record, std::uint32_t slot);
  void TellOrder(const ObjectId& id, const ReductionRecord& reduction, std::uint32_t slot);
  void TellFeeds(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot);
  void TellFeed(const ObjectId& id, ReductionRecord& reduction, std::uint32_t child);
  void MarkLost(const ObjectId& id, ReductionRecord& reduction, std::uint32_t slot, ErrorCode code,
                std::string message);
  void EndReduction(const ObjectId& id, ObjectRecord& record, const Error& error,
                    NodeId tell_coordinator);
  void DropSlots(const ObjectId& id, const ReductionRecord& reduction);
  void LoseFromReduction(const ObjectId& id, ObjectRecord& record, NodeId node);

  // removal.cpp
  void On(NodeId node, const Delete& event);
  void On(NodeId node, const Tombstone& event);
  void On(NodeId node, const EvictAsk& event);
  // `told` and everybody concerned hear of it.
  void MarkDeleted(const ObjectId& id, Duration lifetime, const DeletionMark& mark,
                   std::set<NodeId> told);
  // A copy of this version shows that the mark, if it is a repeated one, had ended.
  void Unmark(const ObjectId& id, Version version);
  void ResolveEvictions(const ObjectId& id, ObjectRecord& record);

  // membership.cpp
  void OnJoined(const NodeJoined& event);
  void OnSuspended(NodeId node);
  void OnLost(NodeId node);
  void StartSweep(NodeId node, Change change);
  void Pay(const Visit& visit, const ObjectId& id);
  void SuspendIn(const ObjectId& id, ObjectRecord& record, NodeId node);
  void LoseFrom(const ObjectId& id, ObjectRecord& record, NodeId node);
  void ForgetRequests(ObjectRecord& record, NodeId node);

  // recovery.cpp
  void On(NodeId node, const Held& event);
  void On(NodeId node, const HeldBytes& event);
  void On(NodeId node, const InventoryEnd& event);
  void On(NodeId node, const StoreUsage& event);
  void EndInventoryIn(const ObjectId& id, ObjectRecord& record, NodeId node);
  void AdoptUpstream(ObjectRecord& record, NodeId node, NodeId upstream);

  // views.cpp
  ObjectView View(const ObjectId& id, const ObjectRecord& record) const;

  // invariants.cpp
  std::string BrokenObject(const ObjectId& id, const ObjectRecord& record) const;
  std::string BrokenReduction(const ObjectId& id, const ObjectRecord& record) const;

  DirectoryOptions options;
  Time now;
  Time collecting_until;  // at least
  Time collecting_limit;  // at most
  bool collecting;
  Stamps stamps;
  LinkModel link;
  NodeTable nodes;
  std::map<ObjectId, ObjectRecord> objects;
  Expiring<ObjectId> tombstones;
  std::map<ObjectId, DeletionMark> marks;  // of the same objects
  KeepApart apart;
  std::map<ObjectId, std::vector<Deferred>> deferred;  // what waits for the end of collecting
  Sweeps sweeps;
  NodeId swept = kNoNode;            // whose going is being dealt with: it is told nothing
  std::set<ObjectId> dirty;          // looked at by the next Plan
  std::set<ObjectId> wants_members;  // receivers are parked that equal watermarks might serve
  std::set<ObjectId> wants_nearer;   // a pass was made while receivers were kept apart from sources
  std::vector<Action> outbox;
  std::uint64_t inline_total = 0;
  std::uint64_t requests = 0;  // numbers receivers in order of request
};

}  // namespace hoplite::planner
