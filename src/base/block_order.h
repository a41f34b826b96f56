// Which block of a stream goes next (R19 in docs/protocol.md). Lanes ask it, simulated ones too.
#pragma once

#include <cstdint>
#include <optional>

#include "base/layout.h"
#include "base/stripe_marks.h"

namespace hoplite {

// The stripe of the lowest block that can be sent: that its receiver asked for (`asked`), was not
// sent yet (its stripe's next one is `next`), and that the source has (it lies below `marks`). If
// the receiver asked for the blocks in the object's order (`ordered`), the lowest one that was not
// sent, or none while the source lacks that. None: nothing can be sent now.
std::optional<std::uint32_t> NextStripe(const Layout& layout, StripeMask asked,
                                        const StripeMarks& next, const StripeMarks& marks,
                                        bool ordered);

}  // namespace hoplite
