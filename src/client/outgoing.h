// Outgoing: what a connection says to its node, in order. A node that reads nothing (because it is
// stopped) holds up no caller: a request that finds no room in the socket waits here, and can be
// taken back until its first byte has left.
//
// Thread-safe; must never block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <hoplite/result.h>

#include "base/mutex.h"
#include "hoplite/v1/local.pb.h"

namespace hoplite::client {

class Outgoing {
 public:
  explicit Outgoing(int socket) : socket_(socket) {}

  // True: some of it waits for room. An error is the socket's end.
  Result<bool> Send(const v1::local::Request& request);
  // As much as there is room for.
  Result<void> Flush();
  // True: the node will never hear of this request.
  bool Withdraw(std::uint64_t request);
  bool waits() const;

 private:
  struct Message {
    std::uint64_t request = 0;
    std::string frame;
  };
  Result<void> Write() HOPLITE_REQUIRES(mutex_);

  const int socket_;
  mutable Mutex mutex_;
  std::deque<Message> waiting_ HOPLITE_GUARDED_BY(mutex_);
  std::size_t sent_ HOPLITE_GUARDED_BY(mutex_) = 0;  // bytes of the first message that have left
};

}  // namespace hoplite::client
