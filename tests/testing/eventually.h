// Eventually: waits for a condition that another thread or process brings about.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace hoplite::test {

// Polls until `condition` holds, at most `bound`; false if it never did.
inline bool Eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds bound = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + bound;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace hoplite::test
