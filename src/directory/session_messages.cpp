#include "directory/session_messages.h"

#include <fmt/format.h>

#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

constexpr std::size_t kPartBytes = 512_KiB;

v1::NodeMessage ToProto(const wire::NodeMessage& message) {
  v1::NodeMessage to;
  if (message.hello) *to.mutable_hello() = wire::ToProto(*message.hello);
  for (const auto& event : message.events) *to.add_events() = wire::ToProto(event);
  if (message.heartbeat) to.set_heartbeat(*message.heartbeat);
  if (message.number) to.set_number(*message.number);
  if (message.taken) to.set_taken(*message.taken);
  return to;
}

v1::ShardMessage ToProto(const wire::ShardMessage& message) {
  v1::ShardMessage to;
  if (message.welcome) *to.mutable_welcome() = wire::ToProto(*message.welcome);
  for (const auto& action : message.actions) *to.add_actions() = wire::ToProto(action);
  if (message.shard_id) to.set_shard_id(*message.shard_id);
  if (message.heartbeat_ack) to.set_heartbeat_ack(*message.heartbeat_ack);
  if (message.ended) *to.mutable_ended() = wire::ToProto(*message.ended);
  if (message.number) to.set_number(*message.number);
  if (message.taken) to.set_taken(*message.taken);
  return to;
}

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
  SendWhole(socket, ToProto(message));
}

void Send(FrameSocket& socket, const wire::ShardMessage& message) {
  SendWhole(socket, ToProto(message));
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
