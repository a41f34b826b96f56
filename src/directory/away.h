// Away: how every message says that a shard of the directory can't be asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <hoplite/result.h>

#include "base/time.h"

namespace hoplite::directory {

// "directory shard 0 is away"; with a reason "directory shard 127.0.0.1:7000 is away: it did not
// answer in time". `shard` is the number of the shard where that is known, else its address.
template <typename Shard>
std::string Away(const Shard& shard, std::string_view why = {}) {
  const std::string away = fmt::format("directory shard {} is away", shard);
  return why.empty() ? away : fmt::format("{}: {}", away, why);
}

// Whether a session ended with this because the shard doesn't take the node.
inline bool Refuses(const Error& why) {
  return why.code == ErrorCode::kInvalidArgument || why.code == ErrorCode::kAlreadyExists;
}

// Of a shard that does not know yet what exists.
inline Error StillCollects(Duration left) {
  return {ErrorCode::kUnavailable,
          fmt::format("the directory shard was just started: it still collects what its nodes "
                      "hold, for {} s more",
                      std::chrono::ceil<std::chrono::seconds>(left).count())};
}

inline constexpr std::string_view kNoAnswer = "it did not answer in time";

}  // namespace hoplite::directory
