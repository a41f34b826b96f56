// Members' decisions as a file for Chrome's trace viewer (chrome://tracing, ui.perfetto.dev): a process
// for each member, a thread for each object, a mark for each decision, and a bar for the time from
// asking for an object to having it.
#pragma once

#include <optional>
#include <vector>

#include <hoplite/object_id.h>

#include "cli/member_traces.h"
#include "cli/output.h"

namespace hoplite::cli {

// `only`: of this object, with what concerns none.
Json ToChromeTrace(const std::vector<MemberTrace>& members, const std::optional<ObjectId>& only);

}  // namespace hoplite::cli
