// Presence: what an object is to whoever only wants to know whether it is there.
#pragma once

#include <cstdint>

namespace hoplite::protocol {

enum class Presence : std::uint8_t {
  kAbsent,    // nobody makes it
  kPartial,   // it is made, and nobody has all of it
  kComplete,  // somebody has
  kDeleted,
  kLost,
  kFailed,
};

}  // namespace hoplite::protocol
