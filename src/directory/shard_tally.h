// ShardTally: what a shard has done since its start, in numbers, for whoever watches it.
//
// Is told: what goes to nodes, and how sessions end. Decides nothing, and nothing depends on it. On the
// shard's loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "protocol/node_action.h"

namespace hoplite::directory {

// How the session of a node ended.
enum class SessionEnd : std::uint8_t {
  kClosed,    // its connection was closed
  kSilent,    // it was not heard for a lease
  kStalled,   // it took nothing of what it was told
  kProtocol,  // it broke the protocol
  kReplaced,  // the node opened another one
};
inline constexpr std::size_t kSessionEnds = 5;

constexpr const char* Name(SessionEnd how) {
  switch (how) {
    case SessionEnd::kClosed:
      return "closed";
    case SessionEnd::kSilent:
      return "silent";
    case SessionEnd::kStalled:
      return "stalled";
    case SessionEnd::kProtocol:
      return "protocol";
    case SessionEnd::kReplaced:
      return "replaced";
  }
  return "";
}

struct ShardTally {
  std::uint64_t grants = 0;
  std::uint64_t moves = 0;  // of them: in the place of another
  std::uint64_t recalls = 0;
  std::uint64_t slots_lost = 0;
  std::uint64_t refused = 0;  // sessions that were not taken
  std::uint64_t nodes_lost = 0;
  std::array<std::uint64_t, kSessionEnds> ended{};  // by SessionEnd

  void Count(const protocol::NodeAction& action) {
    if (const auto* grant = std::get_if<protocol::Grant>(&action)) {
      ++grants;
      if (grant->replaces) ++moves;
    } else if (std::holds_alternative<protocol::Recall>(action)) {
      ++recalls;
    } else if (std::holds_alternative<protocol::SlotLost>(action)) {
      ++slots_lost;
    }
  }
  void CountEnd(SessionEnd how) { ++ended.at(static_cast<std::size_t>(how)); }
};

}  // namespace hoplite::directory
