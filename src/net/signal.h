// Signal: "something changed, look again", awaitable by one coroutine on one loop, notified from
// any thread. A notification with nobody waiting is kept (one, not a count), so none is lost
// between a look and a wait. Nobody spins: a wait costs no CPU.
//
//   while (!ready()) { if (!co_await signal.Wait(deadline)) co_return Timeout(); }
#pragma once

#include <memory>

#include <asio/io_context.hpp>

#include "base/time.h"
#include "net/stream.h"

namespace hoplite::net {

class Signal {
 public:
  explicit Signal(asio::io_context& loop);
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  // Any thread, cheap when nobody waits, never blocks. Safe until the Signal is destroyed.
  void Notify() noexcept;
  // True when notified (since the last Wait returned), false at the deadline. On the loop; one
  // waiter.
  Task<bool> Wait(Time deadline = kNever);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hoplite::net
