// Agenda: which objects the next Plan looks at, and which it looks at again once something general
// has changed.
//
// Decides: the order, which is that of the ids. Is told: which objects something happened to. Must
// never: hold an object back that something happened to. A value type.
#pragma once

#include <set>

#include <hoplite/object_id.h>

#include "base/digest.h"

namespace hoplite::planner {

class Agenda {
 public:
  void Add(const ObjectId& id) { dirty_.insert(id); }
  // Receivers are parked that equal watermarks might serve, once all members are known.
  void AddForMembers(const ObjectId& id) { wants_members_.insert(id); }
  // A pass was made while receivers were kept apart from sources.
  void AddForNearness(const ObjectId& id) { wants_nearer_.insert(id); }

  void MembersAreKnown() { MoveAll(wants_members_, dirty_); }
  void SomeMayMeetAgain() { MoveAll(wants_nearer_, dirty_); }

  bool empty() const { return dirty_.empty(); }
  ObjectId Take() { return dirty_.extract(dirty_.begin()).value(); }

  void AddTo(Digest& digest) const {
    for (const auto* ids : {&dirty_, &wants_members_, &wants_nearer_}) {
      for (const ObjectId& id : *ids) digest.Add(id);
    }
  }

 private:
  static void MoveAll(std::set<ObjectId>& from, std::set<ObjectId>& to) {
    if (to.empty()) {
      to.swap(from);
    } else {
      to.merge(from);
    }
  }

  std::set<ObjectId> dirty_;
  std::set<ObjectId> wants_members_;
  std::set<ObjectId> wants_nearer_;
};

}  // namespace hoplite::planner
