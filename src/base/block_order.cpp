#include "base/block_order.h"

#include <bit>
#include <limits>

namespace hoplite {

// Once for each piece that is sent: it knows that runs and blocks are powers of two, and divides by
// nothing. No two stripes have a run in common, so whichever is in the lower run is next.
std::optional<std::uint32_t> NextStripe(const Layout& layout, StripeMask asked,
                                        const StripeMarks& next, const StripeMarks& marks,
                                        bool ordered) {
  const int shift = std::countr_zero(layout.run_bytes) - std::countr_zero(layout.block_bytes);
  const std::uint64_t blocks = layout.block_count();
  std::uint64_t lowest_run = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint32_t> lowest;
  for (; asked != 0; asked &= asked - 1) {
    const auto s = static_cast<std::uint32_t>(std::countr_zero(asked));
    const std::uint64_t run = std::uint64_t{next[s] >> shift} * layout.stripe_count + s;
    const std::uint64_t block = (run << shift) + (next[s] & ((1U << shift) - 1));
    if (run >= lowest_run || block >= blocks || (!ordered && next[s] >= marks[s])) continue;
    lowest = s;
    lowest_run = run;
  }
  if (lowest && next[*lowest] >= marks[*lowest]) return std::nullopt;
  return lowest;
}

}  // namespace hoplite
