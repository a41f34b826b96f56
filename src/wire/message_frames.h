// MessageFrames: cuts what arrives on a connection into messages. Reads them where the bytes
// arrived, and keeps only those of a message that is not whole yet: a connection that says nothing,
// or only whole messages, costs no memory.
//
// Its memory grows with the bytes that really arrived, never by a length that was only announced. One
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <hoplite/result.h>

#include "base/units.h"
#include "wire/message_frame.h"

namespace hoplite::wire {

// What is read from a connection at a time.
inline constexpr std::size_t kReadBytes = 64_KiB;

class MessageFrames {
 public:
  explicit MessageFrames(std::size_t most) : most_(most) {}

  // No longer message is allowed from now on.
  void SetMost(std::size_t most) { most_ = most; }
  // These bytes arrived. They must stay until Keep, which must come before the next bytes.
  void Received(std::string_view bytes) { fresh_ = bytes; }
  // The next whole message, valid until any other call; none: more bytes are needed.
  //   protocol  a length above the limit; the connection is useless from here on
  Result<std::optional<std::string_view>> Next();
  // Copies what Next has not given yet.
  void Keep();

  // The first bytes of the message that is not whole: what a stranger began with.
  std::string_view begun() const;
  std::size_t kept_bytes() const { return kept_.size(); }

 private:
  void Fetch(std::size_t bytes);
  void Release();

  std::size_t most_;
  std::string kept_;  // [begin_, size) is not given yet
  std::size_t begin_ = 0;
  std::string_view fresh_;  // behind what is kept
};

}  // namespace hoplite::wire
