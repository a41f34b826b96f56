// BlockedPairs: which receivers could not connect to which sources, although both have a session
// (R68).
//
// Decides: how long such a pair is left alone; who of the members might stand between the two, and
// that nobody helps a helper. Is told: that a receiver could not connect, that it did, that a node
// has a new session. Must never: say anything of a source that others reach. A value type; bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "planner/copies/node_table.h"
#include "planner/words/expiring.h"

namespace hoplite::planner {

class BlockedPairs {
 public:
  // The receiver could not connect to the source, for that reason. The pair is left alone until the
  // time that this returns: `first`, and twice as long each time in a row, up to four times that.
  Time Note(NodeId receiver, NodeId source, std::string why, Duration first, Time now);
  // The receiver got what it wanted from the source.
  void Forget(NodeId receiver, NodeId source) { Erase({receiver, source}); }
  // The node has a new session: whatever kept others from it may be over.
  void ForgetAll(NodeId node);

  bool Blocks(NodeId receiver, NodeId source, Time now) const;
  // Why; empty: nothing was said, or it is forgotten.
  std::string Why(NodeId receiver, NodeId source) const;
  // The sources that this receiver can't reach.
  std::set<NodeId> From(NodeId receiver, Time now) const;
  // A member with a session that as far as is known reaches the source, is reached by the receiver,
  // and is `fit`: another one each time that the pair was tried in vain. kNoNode: there is none.
  NodeId ThirdFor(NodeId receiver, NodeId source, const NodeTable& nodes, Time now,
                  const std::function<bool(NodeId)>& fit) const;
  // The third was told to get a copy of this version for another's sake, and may still be at it.
  void NoteThird(Version version, NodeId third, Time now);
  bool IsThird(Version version, NodeId node, Time now) const {
    return thirds_.Contains({version, node}, now);
  }
  bool empty() const { return pairs_.empty(); }
  void AddTo(Digest& digest) const;

 private:
  using Pair = std::pair<NodeId, NodeId>;  // receiver, source
  struct Blocked {
    Time until;
    Duration pause{0};
    std::uint32_t times = 0;  // in a row
    std::string why;
  };
  static constexpr std::size_t kMostPairs = 4096;

  void Erase(const Pair& pair);

  std::map<Pair, Blocked> pairs_;
  Expiring<Pair> kept_;  // until when each is remembered
  Expiring<std::pair<Version, NodeId>> thirds_;
};

}  // namespace hoplite::planner
