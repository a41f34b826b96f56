// ReduceSources: where the sources of one reduction are, and which of them may be picked next.
//
// A source is *ready* while it is not taken and some member holds it that isn't suspect; the ready
// ones are ordered by when they became available, which is what "the first k" means. A holder whose
// slot was lost is suspect for a while.
// A value type; decides nothing about slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <hoplite/object_id.h>

#include "base/ids.h"
#include "base/time.h"
#include "planner/words/expiring.h"

namespace hoplite::planner {

// A source is named by its place in the list.
using SourceIndex = std::size_t;

struct SourceHolder {
  NodeId node = kNoNode;  // nobody: its bytes are in the directory, no slot can use them
  Version version;
  Time suspect_until{};
};

class ReduceSources {
 public:
  explicit ReduceSources(const std::vector<ObjectId>& ids);

  std::optional<SourceIndex> Find(const ObjectId& id) const;
  const ObjectId& id(SourceIndex source) const { return sources_[source].id; }
  std::size_t size() const { return sources_.size(); }

  void AddHolder(SourceIndex source, NodeId node, Version version, const std::string& metadata,
                 Time now);
  void RemoveHolder(SourceIndex source, NodeId node);
  // A slot that used this version there failed; a newer one is not concerned.
  void Suspect(SourceIndex source, NodeId node, Version version, Time until);
  void RemoveVersion(SourceIndex source, NodeId node, Version version);
  // It is out, unless it is taken; put again it counts again.
  void MarkDeleted(SourceIndex source);
  void Take(SourceIndex source);
  void GiveBack(SourceIndex source);
  // Ends suspicions; `next_expiry` is when one may end.
  void Expire(Time now);
  Time next_expiry() const { return suspicions_.next(); }

  // (rank of availability, source)
  const std::set<std::pair<std::uint64_t, SourceIndex>>& ready() const { return ready_; }
  bool is_ready(SourceIndex source) const { return sources_[source].ready; }
  // Of a ready source: its first announced holder that may be used; null: none there.
  const SourceHolder* FirstHolder(SourceIndex source) const;
  const SourceHolder* HolderAt(SourceIndex source, NodeId node) const;
  // Suspect or not, in this version.
  bool Holds(SourceIndex source, NodeId node, Version version) const;
  const std::vector<SourceHolder>& holders(SourceIndex source) const {
    return sources_[source].holders;
  }
  bool Usable(const SourceHolder& holder) const {
    return holder.node != kNoNode && holder.suspect_until <= now_;
  }

  // Sources that are not deleted, or taken before they were.
  std::size_t possible() const { return sources_.size() - out_; }
  // With some holder that isn't suspect, taken or not, by rank.
  std::vector<SourceIndex> Available() const;
  // Whose bytes are in the directory.
  std::size_t Kept() const;
  // Neither available nor taken, in the order of the list.
  std::vector<SourceIndex> Missing() const;
  // Of the first in the list that was ever told; null: none was.
  const std::string* FirstMetadata() const;

 private:
  struct Source {
    ObjectId id;
    std::vector<SourceHolder> holders;  // in the order of their announcement
    std::string metadata;
    bool told = false;
    std::uint64_t rank = 0;  // 0: nobody holds it
    bool taken = false;
    bool deleted = false;
    bool ready = false;
  };

  // Applies a change and brings `ready_` and `out_` into agreement with it.
  template <typename Change>
  void Edit(SourceIndex source, Change change);
  bool IsAvailable(const Source& source) const;

  std::vector<Source> sources_;
  std::map<ObjectId, SourceIndex> by_id_;
  std::set<std::pair<std::uint64_t, SourceIndex>> ready_;
  Expiring<SourceIndex> suspicions_;
  std::size_t out_ = 0;
  std::uint64_t ranks_ = 0;
  Time now_{};
};

}  // namespace hoplite::planner
