// Outgoing: what a connection says to its node, in order. A node that reads nothing (because it is
// stopped) holds up no caller: a request that finds no room in the socket waits here, and can be
// taken back until its first byte has left. Around a fork nothing leaves, so that what the other
// threads say meanwhile is heard after the news of the fork.
//
// Thread-safe; must never block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include <hoplite/result.h>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "hoplite/v1/local.pb.h"

namespace hoplite::client {

class Outgoing {
 public:
  explicit Outgoing(int socket) : socket_(socket) {}

  // True: some of it waits for room. An error is the socket's end. A descriptor travels with it.
  Result<bool> Send(const v1::local::Request& request,
                    FileDescriptor descriptor = FileDescriptor());
  // What is sent from now on stays here, until LetGo, which sends this before all of it.
  void Hold();
  Result<bool> LetGo(const v1::local::Request& first, FileDescriptor descriptor);
  // As much as there is room for.
  Result<void> Flush();
  // True: the node will never hear of this request.
  bool Withdraw(std::uint64_t request);
  bool waits() const;

 private:
  struct Message {
    std::uint64_t request = 0;
    std::string frame;
    FileDescriptor descriptor;  // until the first byte has left
    bool held = false;
  };
  using Messages = std::list<Message>;
  static Message Make(const v1::local::Request& request, FileDescriptor descriptor);
  void Add(Messages::iterator before, Message message) HOPLITE_REQUIRES(mutex_);
  void Remove(Messages::iterator message) HOPLITE_REQUIRES(mutex_);
  Result<void> Write() HOPLITE_REQUIRES(mutex_);
  bool stuck() const HOPLITE_REQUIRES(mutex_) {
    return !waiting_.empty() && !waiting_.front().held;
  }

  const int socket_;
  mutable Mutex mutex_;
  bool holding_ HOPLITE_GUARDED_BY(mutex_) = false;
  Messages waiting_ HOPLITE_GUARDED_BY(mutex_);
  // Of requests that can be taken back, which have an id.
  std::unordered_map<std::uint64_t, Messages::iterator> by_request_ HOPLITE_GUARDED_BY(mutex_);
  std::size_t sent_ HOPLITE_GUARDED_BY(mutex_) = 0;  // bytes of the first message that have left
};

}  // namespace hoplite::client
