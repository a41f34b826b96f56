// Members: the nodes that a shard knows, their names and open sessions.
//
// Decides: whether a name is free. Is told: joins, ends of sessions, losses. Must never hold two
// nodes of one name, or two sessions of one node. Pure, not thread-safe: the service owns it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/ids.h"
#include "directory/session.h"
#include "protocol/node_event.h"
#include "protocol/node_info.h"

namespace hoplite::directory {

class Members {
 public:
  struct Joined {
    bool remembered = false;         // the node was known, suspended or by an older session
    SessionPtr replaced_session;     // of the same node, or null
    NodeId replaced_node = kNoNode;  // suspended, of the same name: lost at once
  };

  // already_exists: another node has this name, or this address, and its session is open.
  Result<Joined> Join(const protocol::NodeInfo& node, SessionPtr session);
  // The node whose session this was; kNoNode for a session that never joined or was replaced.
  NodeId End(const SessionPtr& session);
  void Lose(NodeId node);

  NodeId NodeOf(const SessionPtr& session) const;
  SessionPtr SessionOf(NodeId node) const;  // null: unknown or suspended
  std::string NameOf(NodeId node) const;    // empty: unknown
  std::vector<SessionPtr> Sessions() const;
  bool Knows(NodeId node) const { return nodes_.contains(node); }

 private:
  struct Member {
    protocol::NodeInfo info;
    SessionPtr session;
  };
  // Another node with a session that has the same address; null: none.
  const Member* AtAddress(const protocol::NodeInfo& node) const;

  std::map<NodeId, Member> nodes_;
  std::map<std::string, NodeId> names_;
  std::map<SessionPtr, NodeId, EarlierSession> sessions_;
};

}  // namespace hoplite::directory
