// Existence: which of several objects are complete somewhere, on a node or in the directory, and
// which were and are no more.
//
// Decides: nothing. Is told: by the objects' shards, where they are; asks the store here. While it
// lives the shards tell it. On the node's loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <hoplite/object_id.h>

#include "node/core/operations.h"

namespace hoplite::node {

class Existence {
 public:
  // Each change wakes the call, which outlives this.
  Existence(Operations& operations, std::vector<ObjectId> objects, Call& call);
  Existence(const Existence&) = delete;
  Existence& operator=(const Existence&) = delete;

  std::size_t count() const { return count_; }
  // One that was deleted, or of which the call was told that nobody owns it, if so many can't exist
  // any more.
  std::optional<ObjectId> Missing(std::size_t count) const;
  // Their places in the list, in order.
  std::vector<std::uint32_t> Existing() const;
  // Those that were deleted, or of which the call was told that nobody owns them, or that were lost
  // with the nodes that had them; likewise.
  std::vector<std::uint32_t> Gone() const;

 private:
  struct Watched {
    ObjectId object;
    std::set<NodeId> places;  // of complete copies; the directory's is kNoNode
    bool exists = false;
    bool gone = false;            // deleted, or nobody owns it
    bool lost = false;            // with the nodes that had it, and none came since
    bool failed = false;          // nobody will make it: a Get does not wait
    std::shared_ptr<void> watch;  // last: it changes the others
  };
  void Watch(Watched& watched);
  void Look(Watched& watched);

  Operations& operations_;
  Call& call_;
  std::size_t count_ = 0;
  std::vector<Watched> watched_;  // does not grow: the watches point into it
};

}  // namespace hoplite::node
