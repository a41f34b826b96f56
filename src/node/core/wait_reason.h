// WaitReason: what a call of a client waits for, in one word. `hoplite why` says the same in sentences.
#pragma once

#include <cstdint>

namespace hoplite::node {

enum class WaitReason : std::uint8_t {
  kAbsent,   // the object does not exist
  kShard,    // its shard has not answered
  kMemory,   // no memory is free for it
  kTurn,     // other fetches come first
  kHolder,   // no holder serves it
  kBytes,    // it is on its way, or is being made
  kSources,  // a reduction lacks sources
};
inline constexpr int kWaitReasons = 7;

constexpr const char* Name(WaitReason reason) {
  switch (reason) {
    case WaitReason::kAbsent:
      return "absent";
    case WaitReason::kShard:
      return "shard";
    case WaitReason::kMemory:
      return "memory";
    case WaitReason::kTurn:
      return "turn";
    case WaitReason::kHolder:
      return "holder";
    case WaitReason::kBytes:
      return "bytes";
    case WaitReason::kSources:
      return "sources";
  }
  return "";
}

}  // namespace hoplite::node
