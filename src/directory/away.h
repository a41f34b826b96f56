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

// Of a member that does not hold its shard.
inline Error NotTheHolder(std::string_view holder) {
  return {ErrorCode::kUnavailable,
          holder.empty()
              ? "this member stands by, and knows of no holder of the shard"
              : fmt::format("this member stands by for {}, which holds the shard", holder)};
}

inline constexpr std::string_view kNoAnswer = "it did not answer in time";

// Of an address that can't be reached, and the cause alone, for who names the address otherwise.
inline constexpr std::string_view kCannotConnect = "cannot connect to ";
inline std::string CannotConnect(std::string_view address, std::string_view cause) {
  return fmt::format("{}{}: {}", kCannotConnect, address, cause);
}
inline std::string_view CauseOf(std::string_view why) {
  const auto colon = why.find(": ");
  if (!why.starts_with(kCannotConnect) || colon == std::string_view::npos) return why;
  return why.substr(colon + 2);
}

}  // namespace hoplite::directory
