#include "sim/bounds.h"

#include <algorithm>

#include "base/layout.h"

namespace hoplite::sim {
namespace {

// Edges from the root to the deepest node of a full tree.
std::uint32_t Height(std::uint32_t nodes, std::uint32_t degree) {
  std::uint32_t height = 0;
  for (std::uint64_t level = 1, reached = 1; reached < nodes; ++height) {
    level *= degree;
    reached += level;
  }
  return height;
}

}  // namespace

double BoundSeconds(std::uint64_t size_bytes, const Link& link) {
  return static_cast<double>(size_bytes) / link.bytes_per_second + ToSeconds(link.latency);
}

double TreeSeconds(std::uint32_t nodes, std::uint64_t size_bytes, const Link& link,
                   std::uint32_t degree) {
  const std::uint64_t block =
      std::min<std::uint64_t>(Layout::For(size_bytes).block_bytes, size_bytes);
  const double block_time = degree * static_cast<double>(block) / link.bytes_per_second;
  const double rest_time = degree * static_cast<double>(size_bytes - block) / link.bytes_per_second;
  return Height(nodes, degree) * (ToSeconds(link.latency) + block_time) + rest_time;
}

Tree BestTree(std::uint32_t nodes, std::uint64_t size_bytes, const Link& link) {
  // Beyond 256 children only the height of a star is left to gain; it is tried on its own.
  constexpr std::uint32_t kLastDegree = 256;
  const std::uint32_t star = std::max(nodes, 2u) - 1;
  Tree best{star, TreeSeconds(nodes, size_bytes, link, star)};
  for (std::uint32_t degree = 2; degree <= std::min(star, kLastDegree); ++degree) {
    const double seconds = TreeSeconds(nodes, size_bytes, link, degree);
    if (seconds < best.seconds) best = {degree, seconds};
  }
  return best;
}

}  // namespace hoplite::sim
