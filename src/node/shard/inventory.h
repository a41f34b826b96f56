// Inventory: what a node repeats to a shard after each (re)connect: the truth about its copies,
// tombstones and open requests (docs/protocol.md, R15), part by part.
//
// Decides: what is said of each object, and where a part ends. Is told: nothing; it reads what the
// store and the object table hold. Must never: change anything, or say twice in one inventory what
// a shard knows already. Main loop only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/process_use.h"
#include "node/core/context.h"

namespace hoplite::node {

class Inventory {
 public:
  using Part = directory::DirectoryClient::Part;

  // `process`: what the node's process takes; empty: not known.
  Inventory(Context& context, std::function<ProcessUse()> process)
      : context_(context), process_(std::move(process)) {}

  // As DirectoryClient's hooks say.
  Part Tell(std::size_t shard, const std::optional<ObjectId>& after, std::size_t bytes,
            const std::set<ObjectId>& told);
  std::vector<protocol::NodeEvent> Of(const ObjectId& object);
  Part InlineBytes(std::size_t shard, const std::optional<ObjectId>& after, std::size_t bytes);
  // How full the store is, and what the process takes.
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
  const std::function<ProcessUse()> process_;
};

}  // namespace hoplite::node
