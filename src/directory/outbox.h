// Outbox: what waits for the write that is under way on a stream, as messages of at most about
// 1 MiB (gRPC kills a stream on one of 4 MiB, and would again after every reconnect). Small things
// that come while a write is under way leave together in one message.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace hoplite::directory {

inline constexpr std::size_t kMaxMessageBytes = 1024 * 1024;

template <typename Message>
class Outbox {
 public:
  // The message that the next thing, of so many bytes, is added to. Things of one message are
  // handled in the order of its fields, whatever order they were added in.
  Message& Add(std::size_t bytes) {
    if (waiting_.empty() || waiting_.back().bytes + bytes > kMaxMessageBytes)
      waiting_.emplace_back();
    waiting_.back().bytes += bytes;
    bytes_ += bytes;
    return waiting_.back().message;
  }

  Message Take() {
    Message message = std::move(waiting_.front().message);
    bytes_ -= waiting_.front().bytes;
    waiting_.pop_front();
    return message;
  }

  void Clear() {
    waiting_.clear();
    bytes_ = 0;
  }

  bool empty() const { return waiting_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Waiting {
    Message message;
    std::size_t bytes = 0;
  };
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace hoplite::directory
