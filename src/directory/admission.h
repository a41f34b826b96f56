// Admission: whether a node that says Hello belongs to this shard's cluster (docs/protocol.md,
// R44).
//
// Decides: which id the shard goes by; which nodes must wait because shards or nodes of two
// clusters met; which nodes can never join (protocol, name of the cluster, number of shards, this
// one's place among them). Is told: Hellos, later claims, ends of sessions, losses. Must never
// decide by the spelling of an address, nor by who came first where nodes with objects say
// otherwise. Pure; names of nodes are the business of Members.
//
// A shard can be sure of its id in four degrees, the least first: it drew the id itself; a node
// without objects knew the shard by this id before the shard restarted; a node that has objects of
// other shards only did, which say less of this one's past; a node with objects of this shard did. A
// claim of a higher degree replaces the id. An id that was taken over from nodes with its
// objects may be replaced by the next such claim when none of those nodes is left.
//
// Who waits of two nodes that contradict each other about another shard is decided by whether they
// have objects at all, and then by who came first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/result.h>

#include "base/ids.h"
#include "base/time.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

class Admission {
 public:
  struct Settings {
    std::vector<std::string> shards;  // empty: this one alone
    std::string cluster;
    std::string address;         // of this shard; its place, if it stands in `shards`
    std::uint64_t drawn_id = 0;  // not 0
    // The news of an id has this long to spread before claims that contradict each other are
    // judged.
    Duration patience = std::chrono::seconds(1);
  };
  explicit Admission(Settings settings);

  // Refusals name both sides' values.
  std::optional<wire::Ended> Check(const wire::Hello& hello) const;
  // The node was let in. True: the shard goes by another id now, which the members must be told.
  bool Joined(const wire::Hello& hello, Time now);
  void Claimed(NodeId node, wire::Claims claims, Time now);
  void Ended(NodeId node);  // its session
  void Gone(NodeId node);   // it is lost

  // Nodes that must wait: their claims contradict those of nodes that have objects or came earlier.
  std::vector<std::pair<NodeId, Error>> Contradicting(Time now);
  // When Contradicting has something to say; kNever: not by time alone.
  Time next() const { return look_at_; }

  std::uint64_t id() const { return id_; }

 private:
  enum class Sureness { kDrawn, kTold, kToldHolder, kHeld };
  struct Member {
    std::string name;
    std::size_t place = 0;  // of this shard in its list
    wire::Claims claims;    // one id per shard; of this one: what the node was told last
    bool open = true;
    std::uint64_t order = 0;
  };
  // What members with more weight say: the id of a shard, and one of those who know it.
  using Known = std::map<std::size_t, std::pair<std::uint64_t, const Member*>>;

  std::size_t count() const { return settings_.shards.empty() ? 1 : settings_.shards.size(); }
  std::optional<Error> CheckForGood(const wire::Hello& hello) const;
  std::optional<Error> CheckOwnId(const wire::Hello& hello) const;
  std::optional<Error> CheckOtherIds(const wire::Hello& hello) const;
  bool TakesOver(const wire::Hello& hello) const;
  static Sureness Of(const wire::Claims& claims);
  // A member that has objects of this shard and knows it by its id; or null.
  const Member* Backer() const;
  Member NewMember(const wire::Hello& hello) const;
  std::vector<std::pair<NodeId, const Member*>> ByWeight() const;  // of those with a session
  static std::optional<Error> Contradiction(const Member& member, const Known& known);
  static void Learn(const Member& member, Known& known);
  void LookLater(Time now);

  const Settings settings_;
  std::optional<std::size_t> own_index_;
  std::uint64_t id_;
  Sureness taken_ = Sureness::kDrawn;  // the kind of claim by which id_ was taken over
  std::map<NodeId, Member> members_;
  std::uint64_t joined_ = 0;
  Time look_at_ = kNever;
};

}  // namespace hoplite::directory
