#include "node/pull/made_copy.h"

#include <cstring>

#include "base/checksum.h"
#include "node/pull/flight.h"

namespace hoplite::node {

void Fill(store::Copy& copy, const std::string& bytes, StripeMask stripes) {
  const Layout& layout = copy.layout();
  for (std::uint32_t stripe = 0; stripe < layout.stripe_count; ++stripe) {
    if ((stripes >> stripe & 1) == 0) continue;
    const std::uint32_t end = layout.stripe_block_count(stripe);
    for (std::uint32_t index = copy.mark(stripe); index < end; ++index) {
      const std::uint64_t block = layout.block_at(stripe, index);
      const ByteRange range = layout.block_range(block);
      const auto to = copy.bytes().subspan(range.begin, range.size());
      std::memcpy(to.data(), bytes.data() + range.begin, to.size());
      copy.SetChecksum(block, BlockChecksum(to));
    }
    copy.Advance(stripe, end);
  }
}

Result<void> ListMade(Context& context, ObjectEntry& entry, const store::CopyPtr& copy) {
  copy->set_ever_owned(entry.ever_owned());
  if (entry.flight()) entry.flight()->Supersede();
  if (const store::CopyPtr older = context.store.Find(copy->object())) {
    older->Void(store::VoidReason::kRecalled);
    context.store.Remove(copy->object());
  }
  return context.store.List(copy, store::CopyKind::kPrimary);
}

}  // namespace hoplite::node
