// ServiceManager: tells systemd, or whoever else set NOTIFY_SOCKET, that this daemon is ready, alive and stopping: a
// datagram each. Without that variable it tells nobody. Decides nothing; what can't be told is not an error.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"

namespace hoplite::cli {

class ServiceManager {
 public:
  ServiceManager();  // reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID

  void Ready() const { Tell("READY=1"); }
  void Stopping() const { Tell("STOPPING=1"); }
  // It restarts this daemon if it hears nothing: Alive() is due once in each period.
  bool watches() const { return period_ != kUnwatched; }
  Duration period() const { return period_; }
  void Alive() const { Tell("WATCHDOG=1"); }

 private:
  static constexpr Duration kUnwatched = Duration::max();

  void Tell(std::string_view state) const;

  std::string socket_;  // a path, or with '@' in front an abstract name; empty: nobody
  Duration period_ = kUnwatched;
};

}  // namespace hoplite::cli
