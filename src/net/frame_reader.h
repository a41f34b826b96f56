// FrameReader: the receiving half of a connection. Reads ahead by at most its small buffer, also behind
// a payload, so that a frame costs about one system call, and hands the payload of a Data frame
// straight to where it belongs. Used by one coroutine at a time, on the stream's loop. Never allocates
// by a number that came over the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/stream.h"
#include "wire/frame.h"

namespace hoplite::net {

class FrameReader {
 public:
  explicit FrameReader(StreamPtr stream);
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // The next frame. After a Data, Give or Trace frame its payload must be received before the next call.
  Task<Result<wire::Frame>> Next();
  // The next into.size() bytes of the payload, at most payload_left().
  Task<Result<void>> ReceivePayload(std::span<std::byte> into);
  // What has arrived of the payload: at least one byte, at most into.size().
  Task<Result<std::size_t>> ReceivePayloadSome(std::span<std::byte> into);
  std::uint32_t payload_left() const { return payload_left_; }
  // Nothing read ahead and no payload owed: the conversation is at its end.
  bool at_rest() const { return begin_ == end_ && payload_left_ == 0; }

 private:
  Task<Result<void>> Fill(std::size_t wanted);
  std::size_t TakeReadAhead(std::span<std::byte> into);

  const StreamPtr stream_;
  std::array<std::byte, 2048> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint32_t payload_left_ = 0;
};

}  // namespace hoplite::net
