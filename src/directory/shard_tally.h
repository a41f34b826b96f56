// ShardTally: what a shard has done since its start, in numbers, for whoever watches it.
//
// Is told: what goes to nodes and why, and how sessions end. Decides nothing, and nothing depends on
// it. On the shard's loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "planner/words/words.h"
#include "protocol/node_action.h"
#include "protocol/views.h"

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

// By MoveReason. The last one closes the list.
inline constexpr std::size_t kMoveReasons =
    static_cast<std::size_t>(planner::MoveReason::kOrder) + 1;

constexpr const char* Name(planner::MoveReason why) {
  switch (why) {
    case planner::MoveReason::kNone:
      return "lost";  // a stream replaces another without a reason only where that one had ended
    case planner::MoveReason::kNewcomer:
      return "newcomer";
    case planner::MoveReason::kStarved:
      return "starved";
    case planner::MoveReason::kSlow:
      return "slow";
    case planner::MoveReason::kFaster:
      return "faster";
    case planner::MoveReason::kTrial:
      return "trial";
    case planner::MoveReason::kOrder:
      return "order";
  }
  return "";
}

struct ShardTally {
  std::uint64_t grants = 0;
  std::array<std::uint64_t, kMoveReasons> moves{};  // of them: in the place of another
  std::uint64_t recalls = 0;
  std::uint64_t slots_lost = 0;
  std::uint64_t refused = 0;  // sessions that were not taken
  std::uint64_t nodes_lost = 0;
  std::array<std::uint64_t, kSessionEnds> ended{};  // by SessionEnd

  void Count(const planner::Action& action) {
    if (const auto* grant = std::get_if<protocol::Grant>(&action.body)) {
      ++grants;
      if (grant->replaces) ++moves.at(static_cast<std::size_t>(action.why));
    } else if (std::holds_alternative<protocol::Recall>(action.body)) {
      ++recalls;
    } else if (std::holds_alternative<protocol::SlotLost>(action.body)) {
      ++slots_lost;
    }
  }
  void CountEnd(SessionEnd how) { ++ended.at(static_cast<std::size_t>(how)); }

  std::vector<protocol::MovesView> Moves() const {
    std::vector<protocol::MovesView> views;
    for (std::size_t i = 0; i < kMoveReasons; ++i) {
      views.push_back({Name(static_cast<planner::MoveReason>(i)), moves.at(i)});
    }
    return views;
  }
};

}  // namespace hoplite::directory
