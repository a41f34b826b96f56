// ReducePeers: what one reduction knows of the nodes that may take part in it: who lacked memory for
// a partial result, who can't reach whom (R68), who may fold for another, and in which site each is.
//
// Decides: who helps; for how long two are kept apart, and all are left alone; how often a plan may
// end for the sake of two. Is told: who lacked memory, who could not connect to whom, whom the shard
// named to stand between two, who is in which site. Must never: name a helper that nobody has heard of.
// A value type; ties break by the order of the sources.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "planner/reduce/reduce_sources.h"
#include "planner/words/expiring.h"

namespace hoplite::planner {

class ReducePeers {
 public:
  explicit ReducePeers(NodeId self) : self_(self) {}
  void Advance(Time now) { now_ = now; }

  // --- sites
  void NoteSite(NodeId node, const std::string& site) { sites_.insert_or_assign(node, site); }
  const std::string& SiteOf(NodeId node) const;
  // Those of this node's own site come last, of each other site together.
  auto SiteOrderOf(NodeId node) const {
    const std::string& site = SiteOf(node);
    return std::pair(site == SiteOf(self_), std::string_view(site));
  }

  // --- memory
  void NotePoor(NodeId node) { poor_.insert(node); }
  bool IsPoor(NodeId node) const { return poor_.contains(node); }
  // Those known; they are asked once more.
  std::set<NodeId> ForgetPoor() { return std::exchange(poor_, {}); }
  // There is none with memory; the first time counts.
  void BeginPatience();
  // Who was asked then and lacked memory will go on to: what never fits is answered at once. Or there
  // has been none for too long.
  bool IsForGood(Time asked_at) const;
  // All of them, after a while.
  void AskAllAgain();

  // --- reach
  // The receiver could not connect to the source. Until when the two are kept apart already; none:
  // this is the first.
  std::optional<Time> NoteBlocked(NodeId receiver, NodeId source);
  void KeepApart(NodeId receiver, NodeId source);
  bool Blocked(NodeId receiver, NodeId source) const {
    return blocked_.Contains({receiver, source}, now_);
  }
  bool AnyBlocked() const;
  // Whether there is anything to look for.
  bool all_reach_all() const { return blocked_.entries().empty(); }
  void AddThird(NodeId third) { thirds_.insert(third); }
  void DropThird(NodeId third) { thirds_.erase(third); }
  // Another plan may get round two. False: that was tried enough.
  bool MayGoAround();

  // --- helpers
  // This node, one that the shard named to stand between two (R68), or one that holds a source.
  NodeId FirstHelper(const ReduceSources& sources, const std::function<bool(NodeId)>& fit) const;
  // If all are poor this node.
  NodeId WithMemory(const ReduceSources& sources) const;
  NodeId ThirdBetween(const ReduceSources& sources, NodeId receiver, NodeId source) const;

  // --- rests: nothing is planned before.
  void RestUntil(Time until) { rests_until_ = until; }
  Time rests_until() const { return rests_until_; }

 private:
  NodeId self_;
  Time now_{};
  std::map<NodeId, std::string> sites_;
  std::set<NodeId> poor_;
  std::optional<Time> poor_since_;
  Expiring<std::pair<NodeId, NodeId>> blocked_;  // (receiver, source)
  std::set<NodeId> thirds_;
  int gone_around_ = 0;  // how often a plan ended since somebody can't reach another
  Time rests_until_{};
};

}  // namespace hoplite::planner
