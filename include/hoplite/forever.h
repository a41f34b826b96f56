// A timeout that never passes.
#pragma once

#include <chrono>

namespace hoplite {

// As a timeout: wait until the answer is there, however long that takes.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

}  // namespace hoplite
