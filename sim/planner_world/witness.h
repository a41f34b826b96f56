// Witness: sees what the directory is told and what it says, and knows the real state of the nodes.
//
// Decides: whether an answer of the directory, a node's copy, or a rest breaks a property (by their
// numbers in README.md). It keeps its own books, so a planner whose books are wrong is found out.
// Both worlds have one. A value type.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/digest.h"
#include "planner/shard/directory_state.h"
#include "sim/planner_world/virtual_node.h"

namespace hoplite::sim {

// A node as it really is.
struct Party {
  const VirtualNode* node = nullptr;
  bool alive = true;
  bool has_memory = true;
};

class Witness {
 public:
  explicit Witness(const ObjectId& object) : object_(object) {}

  void Told(const planner::EventBody& event);
  void DirectoryRestarted();

  // Whether the directory listens to this node now.
  bool open(NodeId id) const { return SessionOf(id) == Session::kOpen; }

  // Each answers with a broken property in words, or nothing.
  std::string Check(const planner::Action& action);
  std::string Check(const VirtualNode& node);
  // The directory's picture against the parties (index = raw id - 1), and its own invariants.
  std::string CheckNow(const planner::DirectoryState& directory,
                       std::span<const Party> parties) const;
  std::string CheckAtRest(const planner::DirectoryState& directory,
                          std::span<const Party> parties) const;

  void AddTo(Digest& digest) const;

 private:
  // What the directory was told of a node last.
  enum class Session : std::uint8_t { kNone, kOpen, kSuspended, kLost };

  Session SessionOf(NodeId id) const;
  bool WasDeleted(const Version& version) const { return deleted_ && version <= deleted_; }
  // Judges by what the directory was told.
  bool AnotherHasIt(NodeId than, const Version& version) const;
  std::string CheckGrant(const protocol::Grant& grant, NodeId to) const;

  ObjectId object_;
  std::map<NodeId, Session> sessions_;
  std::map<NodeId, Version> whole_;  // complete copies that it was told of, and may still count on
  std::map<Version, Content> contents_;  // of the puts that were accepted
  Version deleted_;  // versions up to this one were deleted in this life of the directory
};

}  // namespace hoplite::sim
