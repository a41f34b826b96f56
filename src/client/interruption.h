// Interruption: ends what a thread waits for, or copies, for a reason that no deadline knows of: a
// signal in Python; a std::stop_token.
//
// While one lives, the calls of clients on its thread ask it now and then whether they are to end, and
// those that lived before it.
// Then they answer `cancelled`; waiting for a Future or a Reduction answers `timeout`: those go on.
// Decides: nothing. Must never: be asked by another thread; answer no after a yes.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include <hoplite/result.h>

#include "base/time.h"

namespace hoplite::client {

class Interruption {
 public:
  // Between two questions, and before the first: a call that is over sooner is never held up.
  static constexpr std::chrono::milliseconds kAskEvery{50};

  // Asks `wanted` again and again.
  explicit Interruption(std::function<bool()> wanted);
  // Wakes the thread at once when `stop` is asked to stop.
  explicit Interruption(const std::stop_token& stop);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The rest is of the calling thread, and does nothing where it has none.

  // Whether its call is to end. Asks if it is time to.
  static bool Wanted();
  // Until when it may sleep before it asks again.
  static Time NextQuestion();
  // What can be asked to stop, and wakes it.
  static std::vector<std::stop_token> StopTokens();
  // What the call answers.
  static Error Reason();

 private:
  bool Ask();

  const std::function<bool()> wanted_;  // none: it has a token
  const std::stop_token stop_;
  Interruption* const outer_;
  Time next_;
  bool came_ = false;
};

// While one lives, nobody asks: what wants to interrupt may call a client, and this thread holds
// what that needs.
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  Interruption* const outer_;
};

}  // namespace hoplite::client
