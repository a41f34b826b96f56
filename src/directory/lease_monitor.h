// LeaseMonitor: which nodes are alive.
//
// Decides: a node with a session that is not heard for `lease` (longer if it was heard late before,
// see Patience) is suspended; one that stays without
// a session for `grace` is lost, and forgotten. Is told: sessions that open and end, every sign of
// life, and the time. Must never: declare a node lost that was not suspended first, or tell the
// same thing twice. Pure; O(log n) per call.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "directory/patience.h"

namespace hoplite::directory {

class LeaseMonitor {
 public:
  enum class Standing { kSuspended, kLost };
  struct Verdict {
    NodeId node;
    Standing standing;
    friend bool operator==(const Verdict&, const Verdict&) = default;
  };

  // A node says something each `heartbeat`.
  LeaseMonitor(Duration heartbeat, Duration lease, Duration grace)
      : heartbeat_(heartbeat), lease_(lease), grace_(grace) {}

  void Opened(NodeId node, Time now);
  void Heard(NodeId node, Time now);  // nothing for a node without a session
  void Ended(NodeId node, Time now);  // its session: the grace begins
  void Forget(NodeId node);

  // What became true by `now`, in the order in which it did.
  std::vector<Verdict> Due(Time now);
  Time next() const;  // when Due has something to say; kNever without nodes

 private:
  struct Record {
    bool open = false;
    Time deadline;
    Time heard{};
    Patience patience{};
  };
  void Set(NodeId node, Record record);

  Duration heartbeat_;
  Duration lease_;
  Duration grace_;
  std::map<NodeId, Record> records_;
  std::set<std::pair<Time, NodeId>> deadlines_;
};

}  // namespace hoplite::directory
