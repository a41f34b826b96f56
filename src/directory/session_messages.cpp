#include "directory/session_messages.h"

#include <fmt/format.h>

#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

constexpr std::size_t kPartBytes = 512_KiB;

template <typename Message>
void AddPart(FrameSocket& socket, std::string bytes, bool last) {
  Message part;
  part.mutable_part()->set_data(std::move(bytes));
  part.mutable_part()->set_last(last);
  socket.Send(part);
}

template <typename Message>
void SendWhole(FrameSocket& socket, const Message& message) {
  if (message.ByteSizeLong() <= kMaxFrameBytes) return socket.Send(message);
  const std::string bytes = message.SerializeAsString();
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::string_view part = rest.substr(0, kPartBytes);
    rest.remove_prefix(part.size());
    AddPart<Message>(socket, std::string(part), rest.empty());
  }
}

}  // namespace

void Send(FrameSocket& socket, const wire::NodeMessage& message) {
  SendWhole(socket, wire::ToProto(message));
}

void Send(FrameSocket& socket, const wire::ShardMessage& message) {
  SendWhole(socket, wire::ToProto(message));
}

void SendLast(FrameSocket& socket, const wire::Ended& why) {
  socket.DropWaiting();
  Send(socket, wire::ShardMessage{.ended = why});
  socket.Finish();
}

void SendPart(FrameSocket& socket, std::string bytes, bool last) {
  AddPart<v1::ShardMessage>(socket, std::move(bytes), last);
}

Error NoMessage() { return {ErrorCode::kProtocol, "what it says is no message of this protocol"}; }

Error TooManyParts(std::size_t most) {
  return {ErrorCode::kProtocol,
          fmt::format("the parts of a message are longer than {} bytes", most)};
}

}  // namespace hoplite::directory
