// What nodes and shards say to each other, on a FrameSocket. A message longer than a frame goes in
// parts, which follow each other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <hoplite/result.h>

#include "directory/frame_socket.h"
#include "hoplite/v1/directory.pb.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

// Of a session. An event or action longer than that can't be.
inline constexpr std::size_t kMaxMessageBytes = 4_MiB;

void Send(FrameSocket& socket, const wire::NodeMessage& message);
void Send(FrameSocket& socket, const wire::ShardMessage& message);
// The last words of a connection: drops what waits, says why, and closes.
void SendLast(FrameSocket& socket, const wire::Ended& why);
// Some bytes of a serialized message.
void SendPart(FrameSocket& socket, std::string bytes, bool last);

Error NoMessage();
Error TooManyParts(std::size_t most);

// Puts the parts of long messages together: their memory is bounded by `most`.
template <typename Message>
class MessageReader {
 public:
  explicit MessageReader(std::size_t most) : most_(most) {}

  // The message that this frame ends, valid until the next frame; null: more parts come.
  //   protocol  it is no message, or its parts are too many
  Result<Message*> Read(std::string_view frame) {
    if (!message_.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
      return std::unexpected(NoMessage());
    }
    if (!message_.has_part()) return &message_;
    if (parts_.size() + message_.part().data().size() > most_) {
      return std::unexpected(TooManyParts(most_));
    }
    parts_ += message_.part().data();
    if (!message_.part().last()) return nullptr;
    const std::string whole = std::exchange(parts_, {});
    if (!message_.ParseFromArray(whole.data(), static_cast<int>(whole.size())) ||
        message_.has_part()) {
      return std::unexpected(NoMessage());
    }
    return &message_;
  }

 private:
  const std::size_t most_;
  Message message_;
  std::string parts_;
};

}  // namespace hoplite::directory
