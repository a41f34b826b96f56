#include "planner/books/recovery_window.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace hoplite::planner {

RecoveryWindow::RecoveryWindow(Time start, Duration length, Duration limit)
    : length_(length),
      earliest_end_(start + length),
      latest_end_(start + std::max(length, limit)),
      collecting_(length > Duration{0}) {}

// Who announced itself and still tells its inventory is waited for, within the limit.
Time RecoveryWindow::End(const NodeTable& nodes) const {
  const std::optional<Time> told = nodes.LastTold();
  if (!told) return earliest_end_;
  return std::clamp(*told + length_, earliest_end_, latest_end_);
}

void RecoveryWindow::EndIfDue(Time now, const NodeTable& nodes) {
  if (collecting_ && now >= End(nodes)) collecting_ = false;
}

void RecoveryWindow::Defer(NodeId node, const NodeEvent& event) {
  deferred_[*ObjectOf(event)].push_back({node, SessionsOf(node), event});
}

void RecoveryWindow::EndSession(NodeId node) {
  if (!deferred_.empty()) ++sessions_[node];
}

std::uint64_t RecoveryWindow::SessionsOf(NodeId node) const {
  const auto ended = sessions_.find(node);
  return ended == sessions_.end() ? 0 : ended->second;
}

void RecoveryWindow::ForgetWants(NodeId node, const ObjectId& id) {
  const auto said = deferred_.find(id);
  if (said == deferred_.end()) return;
  std::erase_if(said->second, [&](const Deferred& one) {
    return one.node == node && std::holds_alternative<Want>(one.event);
  });
}

std::optional<std::vector<Deferred>> RecoveryWindow::Take(const ObjectId& id) {
  auto said = deferred_.extract(id);
  if (said.empty()) return std::nullopt;
  std::erase_if(said.mapped(), [&](const Deferred& one) { return !Counts(one); });
  return std::move(said.mapped());
}

}  // namespace hoplite::planner
