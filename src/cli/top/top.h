// What `hoplite top` does: asks all shards, and shows it once, or live on a terminal.
#pragma once

#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/time.h"
#include "cli/top/model.h"
#include "cli/top/view.h"
#include "net/security.h"

namespace hoplite::cli::top {

struct TopOptions {
  std::vector<std::string> shards;
  net::SecurityPtr security;
  Duration timeout{};  // of each question
  View view;           // at the beginning
};

// Takes until all rates are known: nodes tell each second how they are. But no longer than three
// seconds, and the timeout where a shard does not answer.
//   unavailable  no shard answers
Result<Picture> LookOnce(const TopOptions& options);
// Until somebody types q, or a signal comes. The terminal is afterwards as it was.
Result<void> ShowLive(const TopOptions& options);

}  // namespace hoplite::cli::top
