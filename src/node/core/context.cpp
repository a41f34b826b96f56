#include "node/core/context.h"

#include <optional>

#include <fmt/format.h>

#include "directory/away.h"

namespace hoplite::node {

std::string Context::WhyAway(std::size_t shard) const {
  const std::optional<Error> refusal = directory.refusal(shard);
  if (!refusal) return directory::Away(shard);
  return fmt::format("this node waits for directory shard {}, which refuses it: {}", shard,
                     refusal->message);
}

std::string Context::IfAway(const ObjectId& object) const {
  const std::size_t shard = ShardOf(object);
  return directory.connected(shard) ? "" : "; " + WhyAway(shard);
}

}  // namespace hoplite::node
