#include "directory/members.h"

#include <algorithm>

#include <fmt/format.h>

namespace hoplite::directory {

Result<Members::Joined> Members::Join(const protocol::NodeInfo& node, SessionPtr session) {
  const auto named = names_.find(node.name);
  const bool replaces = named != names_.end() && named->second != node.id;
  if (replaces && nodes_.at(named->second).session) {
    return std::unexpected(Error(ErrorCode::kAlreadyExists,
                                 fmt::format("the name '{}' is in use by the node at {}", node.name,
                                             nodes_.at(named->second).info.address)));
  }
  if (const Member* other = AtAddress(node)) {
    return std::unexpected(Error(
        ErrorCode::kAlreadyExists,
        fmt::format(
            "node '{}' says that others reach it at {}, and so does node '{}': at most one of "
            "them is there. Give each node a --listen or --advertise address of its own",
            node.name, node.address, other->info.name)));
  }
  Joined joined;
  if (replaces) {
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

const Members::Member* Members::AtAddress(const protocol::NodeInfo& node) const {
  const auto found = std::ranges::find_if(nodes_, [&](const auto& one) {
    const Member& member = one.second;
    return one.first != node.id && member.session && member.info.address == node.address;
  });
  return found == nodes_.end() ? nullptr : &found->second;
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
