// Http2Guard: what a client may send that speaks HTTP/2, by the headers of its frames alone.
//
// gRPC 1.51 keeps the bytes of a header block until it ends, however long it becomes. So whoever hands
// a client's bytes on to gRPC asks here first. Decides: that a connection begins as HTTP/2 does, that
// no frame is longer than the server allows, and that a header block is bounded, with the frames that
// it comes in. Is told: bytes, cut anywhere. Must never keep any. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <hoplite/result.h>

#include "base/units.h"

namespace hoplite::admin {

// What HTTP/2 allows unless a server says something else, which this one does not.
inline constexpr std::size_t kMaxFrameBytes = 16_KiB;
// With 9 bytes for each frame: frames without anything in them are bounded, too.
inline constexpr std::size_t kMaxHeaderBlockBytes = 16_KiB;

class Http2Guard {
 public:
  //   protocol  these bytes must not be handed on, nor any after them
  Result<void> Take(std::string_view bytes);
  // The preface and the first frame's header are there.
  bool begun() const { return begun_; }

 private:
  Result<void> TakePreface(std::string_view& bytes);
  Result<void> TakeHeader(std::string_view& bytes);
  Result<void> TakeFrame();

  std::size_t preface_ = 0;  // bytes of it that came
  std::array<std::uint8_t, 9> header_{};
  std::size_t header_bytes_ = 0;
  std::size_t payload_ = 0;  // what is still to come of this frame's
  std::size_t block_ = 0;    // of a header block that has not ended; 0: there is none
  bool begun_ = false;
};

}  // namespace hoplite::admin
