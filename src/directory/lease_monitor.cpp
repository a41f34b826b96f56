#include "directory/lease_monitor.h"

namespace hoplite::directory {

namespace {

Time After(Time now, Duration duration) {
  return duration >= kNever - now ? kNever : now + duration;
}

}  // namespace

void LeaseMonitor::Opened(NodeId node, Time now) {
  Set(node, {.open = true, .deadline = After(now, lease_), .heard = now});
}

void LeaseMonitor::Heard(NodeId node, Time now) {
  const auto found = records_.find(node);
  if (found == records_.end() || !found->second.open) return;
  Record record = found->second;
  record.patience.Heard(now - record.heard - heartbeat_, now);
  record.heard = now;
  record.deadline = After(now, record.patience.With(lease_, now));
  Set(node, record);
}

void LeaseMonitor::Ended(NodeId node, Time now) {
  const auto found = records_.find(node);
  if (found == records_.end() || !found->second.open) return;
  Set(node, {.open = false, .deadline = After(now, grace_)});
}

void LeaseMonitor::Forget(NodeId node) {
  const auto found = records_.find(node);
  if (found == records_.end()) return;
  deadlines_.erase({found->second.deadline, node});
  records_.erase(found);
}

std::vector<LeaseMonitor::Verdict> LeaseMonitor::Due(Time now) {
  std::vector<Verdict> verdicts;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto [deadline, node] = *deadlines_.begin();
    if (records_.at(node).open) {
      verdicts.push_back({node, Standing::kSuspended});
      Ended(node, now);
    } else {
      verdicts.push_back({node, Standing::kLost});
      Forget(node);
    }
  }
  return verdicts;
}

Time LeaseMonitor::next() const { return deadlines_.empty() ? kNever : deadlines_.begin()->first; }

void LeaseMonitor::Set(NodeId node, Record record) {
  Forget(node);
  records_.emplace(node, record);
  deadlines_.emplace(record.deadline, node);
}

}  // namespace hoplite::directory
