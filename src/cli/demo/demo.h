// The main job on a cluster of real processes: a large file goes to everybody at once, a relaying
// node is killed in the middle, another joins late, and all hashes are compared; then all of
// them add up arrays for all of them, divided among a ring, and again the first few for one; the
// sums are compared with plain ones.
#pragma once

#include <string>

#include <hoplite/result.h>

namespace hoplite::cli::demo {

// `file` empty: one of tens of MB that is there. `web`: a page shows the cluster meanwhile, and stays
// until somebody ends it. Succeeds only if everything held. Leaves no process and no file, whatever
// happens.
Result<void> RunDemo(const std::string& file, bool web, bool json);

}  // namespace hoplite::cli::demo
