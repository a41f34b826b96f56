// DrainState: how a node that is to stop hands its only copies on (docs/protocol.md, R70).
//
//   a copy --> asked about --drop--> gone: others have it
//                   | keep                      ^ drop
//                   v                           |
//              named to a taker --> asked about again and again
//                   ^ it is fed nothing: the next taker
//
// Decides: about which copies the shard is asked, and when; which node is to take a copy; why one
// was not taken. Is told: complete copies, the shard's answers, what other nodes have free. Must
// never: count a copy as handed on that the shard did not release. Knows no store and no clock:
// node::Drainage has these. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <hoplite/drain.h>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/node_action.h"
#include "protocol/node_event.h"

namespace hoplite::planner {

class DrainState {
 public:
  struct Copy {
    ObjectId object;
    Version version;
    std::uint64_t size_bytes = 0;
  };
  struct Peer {
    NodeId node = kNoNode;
    std::string name;
    std::uint64_t memory_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t disk_free_bytes = 0;  // to which it may write what it holds (R120)
  };
  // What its node is to do.
  struct Effects {
    std::vector<protocol::EvictAsk> ask;
    bool look_for_peers = false;  // and tell them
    Time next = kNever;           // when to come again, if nothing happens before
  };
  // Whether somebody pulls this object from the node.
  using IsFed = std::function<bool(const ObjectId&)>;

  // Whether more copies may be added now. A copy that is known is not added again.
  bool has_room() const { return busy_ < kAtATime; }
  void Add(const Copy& copy, Time now);
  // The copy is not there any more, without the shard's permission: deleted, or recalled.
  void Forget(const ObjectId& object);
  std::vector<ObjectId> objects() const;
  // All other nodes that are alive.
  void OnPeers(std::vector<Peer> peers, Time now);
  // Whether the copy may go.
  void OnAnswer(const protocol::EvictAnswer& answer, Time now);
  Effects Step(Time now, const IsFed& is_fed);

  bool empty() const { return copies_.empty(); }
  bool knows(const ObjectId& object) const { return copies_.contains(object); }
  // The outcome, if this is the end.
  DrainOutcome outcome() const;

 private:
  static constexpr std::size_t kAtATime = 64;

  struct One {
    Version version;
    std::uint64_t size_bytes = 0;
    Time due{};            // then the shard is asked
    bool last = false;     // it said that nobody else has the copy
    bool resting = false;  // nobody takes it now: others go first
    NodeId taker = kNoNode;
    Time named{};            // since when that is the taker, or it was last fed
    Duration look{};         // so long after an answer the shard is asked again
    std::set<NodeId> tried;  // takers that did not take it
  };
  using Item = std::map<ObjectId, One>::value_type;

  void Ask(Item& item, Time now, const IsFed& is_fed, Effects& out);
  bool Name(Item& item, Time now, Effects& out);
  const Peer* BestPeer(const One& one) const;
  void GiveUp(One& one);
  void Erase(std::map<ObjectId, One>::iterator at);
  void SetResting(One& one, bool resting);
  // Of its memory, what it was promised left out.
  std::int64_t Free(const Peer& peer) const;
  Error WhyLeft(const One& one) const;

  std::map<ObjectId, One> copies_;
  std::size_t busy_ = 0;             // of these, those that do not rest
  std::uint64_t offered_bytes_ = 0;  // of the copies that have a taker
  std::uint64_t handed_on_ = 0;
  std::vector<Peer> peers_;
  std::optional<Time> peers_told_;
  std::map<NodeId, std::uint64_t> promised_;  // bytes, since that
};

}  // namespace hoplite::planner
