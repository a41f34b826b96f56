// Inventory: what a node repeats to a shard after each (re)connect: the truth about its copies,
// deletion marks and open requests (docs/protocol.md, R15), part by part.
//
// Decides: what is said of each object, and where a part ends. Is told: nothing; it reads what the
// store and the object table hold. Must never: change anything, or say twice in one inventory what
// a shard knows already. Main loop only.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "node/core/context.h"

namespace hoplite::node {

class Inventory {
 public:
  using Part = directory::DirectoryClient::Part;

  explicit Inventory(Context& context) : context_(context) {}

  // As DirectoryClient's hooks say.
  Part Tell(std::size_t shard, const std::optional<ObjectId>& after, std::size_t bytes,
            const std::set<ObjectId>& told);
  std::vector<protocol::NodeEvent> Of(const ObjectId& object);
  Part InlineBytes(std::size_t shard, const std::optional<ObjectId>& after, std::size_t bytes);
  // How full the store is.
  protocol::StoreUsage Usage() const;

 private:
  bool KeptByShard(const store::Copy& copy, std::size_t shard) const;
  std::vector<ObjectId> ObjectsAfter(std::size_t shard,
                                     const std::optional<ObjectId>& object) const;
  void TellOf(const ObjectId& object, std::vector<protocol::NodeEvent>& events);
  void TellCopy(const store::Copy& copy, const EntryPtr& entry,
                std::vector<protocol::NodeEvent>& events) const;
  void TellRequests(const ObjectEntry& entry, std::vector<protocol::NodeEvent>& events) const;

  Context& context_;
};

}  // namespace hoplite::node
