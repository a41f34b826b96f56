#include "client/get_many.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/digest.h"

namespace hoplite::client {

std::vector<std::size_t> OrderOfAsking(std::span<const ObjectId> ids, std::string_view node) {
  std::vector<std::pair<std::uint64_t, std::size_t>> ranks;
  ranks.reserve(ids.size());
  for (std::size_t place = 0; place < ids.size(); ++place) {
    ranks.emplace_back(Digest().Add(node).Add(ids[place]).value(), place);
  }
  std::ranges::sort(ranks);
  std::vector<std::size_t> order(ids.size());
  std::ranges::transform(ranks, order.begin(), [](const auto& rank) { return rank.second; });
  return order;
}

}  // namespace hoplite::client
