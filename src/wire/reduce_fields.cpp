#include "wire/reduce_fields.h"

#include <fmt/format.h>

namespace hoplite::wire {

std::string BeyondSlots(std::uint32_t slot, std::uint32_t least) {
  return fmt::format("is {}, beyond {} to {}", slot, least, protocol::kMaxSlots);
}

// Of a ShardFold the dtype may be 0.
Result<void> CanBeFolded(const protocol::Fold& fold) {
  if (fold.dtype != DType{}) {
    const auto fits = Supports(fold.op, fold.dtype);
    if (!fits) return Bad("op", "doesn't fit: " + fits.error().message);
  }
  if (fold.sources >= 1 && fold.sources <= kMaxReduceSources) return {};
  return Bad("sources", fmt::format("is {}, beyond 1 to {}", fold.sources, kMaxReduceSources));
}

Result<void> HasSources(const protocol::ShardFold& fold) {
  if (!fold.sources.empty()) return {};
  return Bad("sources", "is empty");
}

// Each has a stripe of its own of what the slot makes.
Result<void> HasOtherParents(const protocol::SlotOrder& order) {
  for (const std::uint32_t parent : order.parents) {
    if (parent < 1 || parent > protocol::kMaxSlots) return Bad("parent", BeyondSlots(parent, 1));
    if (parent == order.slot) return Bad("parent", "is the slot itself");
  }
  return {};
}

Result<void> CheckShape(const protocol::Fold& fold, const Layout& layout) {
  if (fold.dtype == DType{}) return Bad("dtype", "is missing");
  if (fold.folded_bytes > layout.size_bytes) {
    return Bad("folded_bytes", fmt::format("is {} of {}", fold.folded_bytes, layout.size_bytes));
  }
  if (fold.folded_bytes % SizeOf(fold.dtype) != 0) {
    return Bad("folded_bytes",
               fmt::format("is {}, no whole number of {}", fold.folded_bytes, Name(fold.dtype)));
  }
  if (fold.folded_bytes != 0 || layout.size_bytes % SizeOf(fold.dtype) == 0) return {};
  return Bad("layout", fmt::format("has {} bytes, no whole number of {}", layout.size_bytes,
                                   Name(fold.dtype)));
}

}  // namespace hoplite::wire
