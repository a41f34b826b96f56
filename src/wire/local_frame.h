// The local protocol (proto/hoplite/v1/local.proto): how its frames are read, and the limits that
// both ends hold each other to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <hoplite/result.h>

#include "base/units.h"
#include "wire/message_frame.h"

namespace hoplite::wire {

inline constexpr std::uint32_t kLocalProtocolVersion = 10;
// Puts up to this size travel inside their message.
inline constexpr std::size_t kMaxMessagePut = 64_KiB;
// Room for the sources of a Reduce, and for the objects of a WaitExists.
inline constexpr std::size_t kMaxLocalRequest = 512_KiB;
inline constexpr std::size_t kMaxWaitExists = 16384;
// The objects of one Delete, Own or Disown.
inline constexpr std::size_t kMaxObjects = 16384;
// Those of one GetMany or Info: an answer has room for their metadata.
inline constexpr std::size_t kMaxGetMany = 2048;
// Large for the sake of Status of a cluster with many objects.
inline constexpr std::size_t kMaxLocalAnswer = 16_MiB;

// Cuts a stream of bytes into messages. Its memory grows with the bytes that really arrived, never
// by a length that was only announced. One thread.
class LocalFrames {
 public:
  explicit LocalFrames(std::size_t max_message_bytes) : max_message_bytes_(max_message_bytes) {}

  // Room for bytes that arrive, then how many did.
  std::span<char> Space();
  void Received(std::size_t bytes) { end_ += bytes; }
  // The next whole message, valid until Space is called; none: more bytes are needed.
  //   protocol  a length above the limit; the stream is useless from here on
  Result<std::optional<std::string_view>> Next();

 private:
  const std::size_t max_message_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // [begin_, end_) is not consumed yet
  std::size_t end_ = 0;
};

}  // namespace hoplite::wire
