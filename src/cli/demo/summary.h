// What the demo proved, as text and as JSON.
#pragma once

#include <vector>

#include "cli/demo/broadcast.h"
#include "cli/demo/reduction.h"
#include "cli/demo/screen.h"
#include "cli/demo/subject.h"
#include "cli/output.h"

namespace hoplite::cli::demo {

// An error names the first thing that did not hold: a survivor without the bytes, other bytes,
// nobody killed in the middle.
Result<void> Verdict(const Broadcast& broadcast, const Subject& subject);

void SaySummary(const Broadcast& broadcast, const Subject& subject, Screen& screen);
Json SummaryDocument(const Broadcast& broadcast, const Subject& subject,
                     const std::vector<Reduced>& reductions);

}  // namespace hoplite::cli::demo
