// Trials: receivers of one object that were moved because another holder was shown to have more to
// spare than they were measured to get (R102).
//
// Decides: whether such a move was right. Is told: what comes after it. Must never: leave a receiver
// where it gets no more than before, or try again soon. A value type.
#pragma once

#include <chrono>
#include <map>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace hoplite::planner {

class Trials {
 public:
  // It left that source, from which so many bytes per second came, by this grant.
  void Begin(NodeId receiver, GrantId grant, NodeId former, double before) {
    trials_[receiver] = {grant, former, before, {}};
  }
  // It made room for others, and shall not come back at once.
  void Settle(NodeId receiver, Time now) {
    trials_[receiver].stays_until = now + std::chrono::seconds(1);
  }
  // It made room, or went back, lately.
  bool Stays(NodeId receiver, Time now) const {
    const auto trial = trials_.find(receiver);
    return trial != trials_.end() && now < trial->second.stays_until;
  }
  bool IsTried(NodeId receiver, GrantId grant) const {
    const auto trial = trials_.find(receiver);
    return trial != trials_.end() && trial->second.former != kNoNode &&
           trial->second.grant == grant;
  }
  // The one that is tried got so much in its first two windows. Where it goes back to; kNoNode: it is
  // better off.
  NodeId End(NodeId receiver, double gets, Time now) {
    constexpr double kBetter = 1.2;
    constexpr Duration kStays = std::chrono::seconds(10);
    Trial& trial = trials_.at(receiver);
    const NodeId former = std::exchange(trial.former, kNoNode);
    if (gets >= kBetter * trial.before) return kNoNode;
    trial.stays_until = now + kStays;
    return former;
  }

 private:
  struct Trial {
    GrantId grant;
    NodeId former = kNoNode;  // none: it is over
    double before = 0;
    Time stays_until{};
  };

  std::map<NodeId, Trial> trials_;
};

}  // namespace hoplite::planner
