#include "node/core/context.h"

#include <optional>

#include <fmt/format.h>

#include "directory/away.h"

namespace hoplite::node {

std::string Context::WhyAway(std::size_t shard) const {
  const std::optional<Error> why = directory.why_away(shard);
  const Duration away = directory.away_for(shard);
  const std::string for_long =
      away > Duration{0} ? fmt::format(", for {:.1f} s so far", ToSeconds(away)) : "";
  if (!why || !directory::Refuses(*why)) {
    return directory::Away(shard, why ? why->message : "") + for_long;
  }
  return fmt::format("this node waits for directory shard {}, which refuses it: {}{}", shard,
                     why->message, for_long);
}

std::string Context::IfAway(const ObjectId& object) const {
  const std::size_t shard = ShardOf(object);
  return directory.connected(shard) ? "" : "; " + WhyAway(shard);
}

}  // namespace hoplite::node
