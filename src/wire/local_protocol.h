// The local protocol (proto/hoplite/v1/local.proto): the limits that both ends hold each other to.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace hoplite::wire {

inline constexpr std::uint32_t kLocalProtocolVersion = 15;
// The client waits for the reason of a timeout a little beyond its deadline. On a busy host reasons are
// late, so the node gives them a little before: a twentieth of the time, at most this.
inline constexpr std::chrono::milliseconds kMostEarly{50};
constexpr std::chrono::microseconds AnsweredWithin(std::chrono::microseconds timeout) {
  return timeout - std::min<std::chrono::microseconds>(timeout / 20, kMostEarly);
}
// Puts up to this size travel inside their message.
inline constexpr std::size_t kMaxMessagePut = 64_KiB;
// Room for the sources of a Reduce, and for the objects of a WaitExists.
inline constexpr std::size_t kMaxLocalRequest = 512_KiB;
inline constexpr std::size_t kMaxWaitExists = 16384;
// The objects of one Delete, Own or Disown.
inline constexpr std::size_t kMaxObjects = 16384;
// Those of one GetMany or Info: an answer has room for their metadata.
inline constexpr std::size_t kMaxGetMany = 2048;
inline constexpr std::size_t kMaxRegisterName = 256;
inline constexpr std::size_t kMaxRegisterValue = 1_KiB;
// Large for the sake of Status of a cluster with many objects.
inline constexpr std::size_t kMaxLocalAnswer = 16_MiB;

}  // namespace hoplite::wire
