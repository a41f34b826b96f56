// OwnerBook: which nodes own which ids, and until when an id without owners is kept (R50-R54).
//
// Decides: nothing but the arithmetic of times: a stop of the shard's process moves all of them. Is
// told: who owns, who no longer does, whose session ended, who was lost. Must never: know an id that
// nobody ever owned. A value type; O(log n) per call and owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "base/digest.h"
#include "base/ids.h"
#include "base/time.h"
#include "planner/words/expiring.h"
#include "planner/words/grace.h"

namespace hoplite::planner {

// In which sense a node owns an id.
enum class Standing : std::uint8_t {
  kOwns = 1,    // it said so in its present session
  kAway = 2,    // in a session before, and has not repeated it yet
  kOrphan = 3,  // it was lost since: until the orphan grace is over
};

struct OwningNode {
  NodeId node = kNoNode;
  std::uint64_t number = 0;   // of its newest change that counts
  std::uint64_t attempt = 0;  // by this Create, and nothing since; 0: said by itself
  Standing standing = Standing::kOwns;
  Version since;  // what the shard had stamped last when it accepted that
  Grace grace;    // how long it owns as an orphan
};

class OwnerBook {
 public:
  // Nothing of it depends on time.
  bool idle() const { return ids_.empty() && lonely_.entries().empty(); }
  std::size_t size() const { return ids_.size(); }
  // Whether somebody owns the id or did, and it has not been deleted since.
  bool Knows(const ObjectId& id) const { return !ids_.empty() && ids_.contains(id); }
  // Whether somebody owns it.
  bool Owned(const ObjectId& id) const;
  const OwningNode* Find(const ObjectId& id, NodeId node) const;
  // Whether a node began to own it after this tombstone was made, and so after that ended.
  bool OwnedAfter(const ObjectId& id, Version tombstone) const;
  std::vector<NodeId> OwnersOf(const ObjectId& id) const;
  // The longest of its owners.
  Grace GraceOf(const ObjectId& id, const GraceTerms& terms) const;
  // Ids that the node owns, but for those that it owned when it was lost.
  std::size_t CountOf(NodeId node) const;

  // The id was owned, by whom is not known. True: that is news. Not to be deleted for lack of owners
  // before `not_before`.
  bool Note(const ObjectId& id, Time not_before);
  // The node owns it: an older number changes nothing but the standing.
  void Own(const ObjectId& id, const OwningNode& owner);
  void Drop(const ObjectId& id, NodeId node);
  void SetAway(const ObjectId& id, NodeId node);
  void SetOrphan(const ObjectId& id, NodeId node, Time until);
  void Erase(const ObjectId& id);

  // Of an id that nobody owns.
  Time NotBefore(const ObjectId& id) const { return ids_.at(id).not_before; }
  // Of an id that nobody owns, known or not: it is looked at again at this time, or never.
  void LookAgain(const ObjectId& id, Time when) { lonely_.Insert(id, when); }

  // The highest number that the node had given when its session began.
  void Joined(NodeId node, std::uint64_t number) { floors_[node] = number; }
  void Left(NodeId node) { floors_.erase(node); }
  std::uint64_t FloorOf(NodeId node) const;

  // Orphans whose grace is over go: the ids of at most so many.
  std::vector<ObjectId> Expire(Time now, std::size_t most);
  // Ids to be looked at again, at most so many.
  std::vector<ObjectId> TakeLonely(Time now, std::size_t most) { return lonely_.Expire(now, most); }
  Time next_lapse() const { return lapses_.next(); }
  Time next_look() const { return lonely_.next(); }

  bool Consistent() const;
  const auto& ids() const { return ids_; }
  void AddTo(Digest& digest) const;

 private:
  struct Id {
    std::vector<OwningNode> owners;  // few
    Time not_before;
  };
  static OwningNode* In(Id& id, NodeId node);
  void Count(NodeId node, int more);

  std::map<ObjectId, Id> ids_;
  std::map<NodeId, std::size_t> counts_;
  std::map<NodeId, std::uint64_t> floors_;
  Expiring<std::pair<ObjectId, NodeId>> lapses_;  // the orphans
  Expiring<ObjectId> lonely_;                     // some that nobody owns, also unknown ones
};

}  // namespace hoplite::planner
