#include "sim/broadcast.h"

#include "base/try.h"

namespace hoplite::sim {

Result<Report> RunBroadcast(const Options& options) {
  TRY(options.Validate());
  return std::unexpected(Error(ErrorCode::kUnavailable, "the simulated world is not built yet"));
}

}  // namespace hoplite::sim
