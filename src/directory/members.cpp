#include "directory/members.h"

#include <fmt/format.h>

namespace hoplite::directory {

Result<Members::Joined> Members::Join(const protocol::NodeInfo& node, SessionPtr session) {
  Joined joined;
  const auto named = names_.find(node.name);
  if (named != names_.end() && named->second != node.id) {
    const Member& owner = nodes_.at(named->second);
    if (owner.session) {
      return std::unexpected(Error(
          ErrorCode::kAlreadyExists,
          fmt::format("the name '{}' is in use by the node at {}", node.name, owner.info.address)));
    }
    joined.replaced_node = named->second;
    Lose(joined.replaced_node);
  }
  joined.remembered = nodes_.contains(node.id);
  joined.replaced_session = SessionOf(node.id);
  Lose(node.id);  // its earlier name may be another one
  names_[node.name] = node.id;
  sessions_[session] = node.id;
  nodes_[node.id] = {node, std::move(session)};
  return joined;
}

NodeId Members::End(const SessionPtr& session) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return kNoNode;
  const NodeId node = found->second;
  nodes_.at(node).session = nullptr;
  sessions_.erase(found);
  return node;
}

void Members::Lose(NodeId node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  if (found->second.session) sessions_.erase(found->second.session);
  names_.erase(found->second.info.name);
  nodes_.erase(found);
}

NodeId Members::NodeOf(const SessionPtr& session) const {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? kNoNode : found->second;
}

SessionPtr Members::SessionOf(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.session;
}

std::string Members::NameOf(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? "" : found->second.info.name;
}

std::vector<SessionPtr> Members::Sessions() const {
  std::vector<SessionPtr> sessions;
  sessions.reserve(sessions_.size());
  for (const auto& [session, node] : sessions_) sessions.push_back(session);
  return sessions;
}

}  // namespace hoplite::directory
