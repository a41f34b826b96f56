// RegisterBook: what each register holds, and which nodes have it open (R90-R96).
//
// Decides: nothing but when a register is forgotten: with the last node that has it open, since a
// number never comes again (R90). Is told: what nodes say, and what becomes of their sessions. Must
// never: keep what an older session said once a newer one began. A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <hoplite/object_id.h>

#include "base/digest.h"
#include "base/ids.h"
#include "planner/words/words.h"

namespace hoplite::planner {

// A write of a node that was done.
struct RegisterDone {
  std::uint64_t call = 0;
  Version version;
  Version claim;  // of the register since then
  bool claims() const { return version == claim; }
  friend bool operator==(const RegisterDone&, const RegisterDone&) = default;
};

// A node that has a register open.
struct RegisterUser {
  bool away = false;                 // its session ended, and the next has not repeated it yet
  Version claim;                     // by which a client there is the writer
  std::optional<RegisterCall> call;  // not answered
  // Of its last call, whose answer it may not have heard yet.
  std::optional<RegisterDone> done;
  // What it was told last in its session; none: nothing yet.
  struct Told {
    Version version;
    bool writer = false;
    friend bool operator==(const Told&, const Told&) = default;
  };
  std::optional<Told> told;
};

struct RegisterRecord {
  RegisterContents entry;
  std::map<NodeId, RegisterUser> users;
};

// By which write a client of the node is the writer, or is to hear that it is; none: none is.
Version ClaimOf(const RegisterUser& user);
// Whoever claimed it last has it open, or is to hear that his claim was done.
bool HasWriter(const RegisterRecord& record);

class RegisterBook {
 public:
  bool empty() const { return records_.empty(); }
  // Null: nobody has it open.
  const RegisterRecord* Find(const ObjectId& id) const;
  RegisterRecord* Find(const ObjectId& id);
  std::size_t CountOf(NodeId node) const;
  const std::map<ObjectId, RegisterRecord>& records() const { return records_; }

  // The node has it open.
  RegisterUser& Use(const ObjectId& id, NodeId node);
  void Drop(const ObjectId& id, NodeId node);

  // --- sessions
  // The highest number that the node had given when its session began: older words are void.
  void Joined(NodeId node, std::uint64_t number) { floors_[node] = number; }
  std::uint64_t FloorOf(NodeId node) const;
  void Suspend(NodeId node);
  // What it did not repeat it does not have open.
  void EndInventory(NodeId node);
  void Lose(NodeId node);

  // --- registers that something happened to
  void Touch(const ObjectId& id) { touched_.insert(id); }
  bool touched() const { return !touched_.empty(); }
  ObjectId TakeTouched() { return touched_.extract(touched_.begin()).value(); }

  bool Consistent() const;
  void AddTo(Digest& digest) const;

 private:
  std::map<ObjectId, RegisterRecord> records_;
  std::map<NodeId, std::set<ObjectId>> open_;  // the index of users
  std::map<NodeId, std::uint64_t> floors_;
  std::set<ObjectId> touched_;
};

}  // namespace hoplite::planner
