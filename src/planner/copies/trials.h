// Trials: receivers of one object that were moved because another holder was shown to have more to
// spare than they were measured to get.
//
// Decides: whether such a move was right. Is told: what comes after it. Must never: leave a receiver
// where it gets no more than before, or let the same two moves follow each other. A value type.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/ids.h"
#include "base/time.h"

namespace hoplite::planner {

class Trials {
 public:
  // For who went back, or is better off.
  static constexpr Duration kLong = std::chrono::seconds(10);
  // For who made room for others, or could not go back; and so long a trial waits for bytes.
  static constexpr Duration kShort = std::chrono::seconds(1);

  // It left that source, from which so many bytes per second came, by this grant.
  void Begin(NodeId receiver, GrantId grant, NodeId former, double before) {
    Trial& trial = trials_[receiver];
    trial.grant = grant;
    trial.former = former;
    trial.before = before;
  }
  bool IsTried(NodeId receiver, GrantId grant) const {
    const Trial* trial = Find(receiver);
    return trial != nullptr && trial->former != kNoNode && trial->grant == grant;
  }
  // The one that is tried got so much in its first two windows. Where it should go back to; kNoNode:
  // it is better off, and makes room for nobody.
  NodeId End(NodeId receiver, double gets, Time now) {
    constexpr double kBetter = 1.2;
    Trial& trial = trials_.at(receiver);
    const NodeId former = std::exchange(trial.former, kNoNode);
    if (gets < kBetter * trial.before) return former;
    trial.keeps_until = now + kLong;
    return kNoNode;
  }
  // It moves to no wider source before that.
  void Stay(NodeId receiver, Time until) {
    Time& stays_until = trials_[receiver].stays_until;
    stays_until = std::max(stays_until, until);
  }
  bool Stays(NodeId receiver, Time now) const {
    const Trial* trial = Find(receiver);
    return trial != nullptr && now < trial->stays_until;
  }
  bool Keeps(NodeId receiver, Time now) const {
    const Trial* trial = Find(receiver);
    return trial != nullptr && now < trial->keeps_until;
  }

 private:
  struct Trial {
    GrantId grant;
    NodeId former = kNoNode;  // none: it is over
    double before = 0;
    Time stays_until{};
    Time keeps_until{};
  };

  const Trial* Find(NodeId receiver) const {
    const auto trial = trials_.find(receiver);
    return trial == trials_.end() ? nullptr : &trial->second;
  }

  std::map<NodeId, Trial> trials_;
};

}  // namespace hoplite::planner
