// PairWitness: hears who could not connect to whom, and sees who is sent to whom all the same (R68).
//
// Decides: whether the shard sends a receiver to a source that it could not connect to a moment ago;
// whether a plan of the coordinator has two beside each other of which it heard that they can't
// connect, although a third could stand between them. It keeps its own books. A value type.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "planner/shard/directory_state.h"
#include "planner/words/words.h"

namespace hoplite::sim {

// As complaints name it.
std::string NameOf(NodeId id);

class PairWitness {
 public:
  // What the shard is about to be told, which listens to its nodes; the shard as it was before.
  void Told(const planner::EventBody& event, const planner::DirectoryState& shard, Time now);
  void DirectoryRestarted();
  // What one plan of the shard says. This and the next answer with a broken property, or nothing.
  std::string Check(const std::vector<planner::Action>& actions, Time now);
  // What the coordinator says at once of its plan, after what it was told.
  std::string CheckPlan(const std::vector<protocol::NodeEvent>& said, NodeId coordinator, Time now);
  void CoordinatorHears(const protocol::NodeAction& word, Time now);
  void AddTo(Digest& digest) const;

 private:
  using Pair = std::pair<NodeId, NodeId>;  // receiver, source

  void OnClosed(NodeId node, const protocol::GrantClosed& closed,
                const planner::DirectoryState& shard, Time now);
  void OnLost(const protocol::SlotLost& lost, Time now);
  void ForgetAll(NodeId node);
  std::string CheckSent(const std::map<Pair, Time>& kept, const Pair& pair, Time now) const;
  void OnOrder(std::uint64_t attempt, const protocol::SlotOrder& order);
  std::string CheckNeighbours(std::uint64_t newer_than, NodeId coordinator, Time now) const;
  bool HasThird(const Pair& pair, NodeId coordinator, Time now) const;
  bool Blocked(const Pair& pair, Time now) const;

  // The shard's side: who is kept from whom, and until when at least.
  std::map<GrantId, NodeId> sources_;
  std::map<Pair, Time> kept_from_holders_;
  std::map<Pair, Time> kept_from_slots_;
  std::set<NodeId> reporting_;             // say right now that they can't get an input
  std::map<std::uint64_t, NodeId> nodes_;  // of the slots, by the attempt of their order
  std::set<NodeId> alive_;

  // The coordinator's side, since its first word that could not have been meant for an older plan.
  struct Planned {
    std::uint64_t attempt = 0;
    protocol::SlotOrder order;
  };
  std::map<std::uint32_t, Planned> planned_;  // by slot, what it said last
  std::uint64_t newest_ = 0;                  // attempt that it said
  std::map<Pair, Time> blocked_;              // and until when it goes by that
  std::set<NodeId> thirds_;                   // that the shard named
  std::set<NodeId> failed_;                   // lost a slot for another reason
  int losses_ = 0;                            // that it heard of
};

}  // namespace hoplite::sim
