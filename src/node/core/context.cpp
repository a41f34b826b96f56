#include "node/core/context.h"

#include <optional>

#include <fmt/format.h>

#include "directory/away.h"

namespace hoplite::node {

std::string Context::WhyAway(std::size_t shard) const {
  const std::optional<Error> why = directory.why_away(shard);
  if (!why || !directory::Refuses(*why)) return directory::Away(shard, why ? why->message : "");
  return fmt::format("this node waits for directory shard {}, which refuses it: {}", shard,
                     why->message);
}

std::string Context::IfAway(const ObjectId& object) const {
  const std::size_t shard = ShardOf(object);
  return directory.connected(shard) ? "" : "; " + WhyAway(shard);
}

}  // namespace hoplite::node
