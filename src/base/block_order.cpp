#include "base/block_order.h"

namespace hoplite {

std::optional<std::uint32_t> NextStripe(const Layout& layout, StripeMask asked,
                                        const StripeMarks& next, const StripeMarks& marks,
                                        bool ordered) {
  std::optional<std::uint32_t> lowest;
  for (std::uint32_t s = 0; s < layout.stripe_count; ++s) {
    if ((asked >> s & 1) == 0 || next[s] >= layout.stripe_block_count(s)) continue;
    if (!ordered && next[s] >= marks[s]) continue;
    if (!lowest || layout.block_at(s, next[s]) < layout.block_at(*lowest, next[*lowest]))
      lowest = s;
  }
  if (lowest && next[*lowest] >= marks[*lowest]) return std::nullopt;
  return lowest;
}

}  // namespace hoplite
