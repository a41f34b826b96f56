#include "directory/shard_connection.h"

#include <utility>

#include <fmt/format.h>

#include "directory/strangers.h"
#include "wire/directory_messages.h"

namespace hoplite::directory {

std::shared_ptr<ShardConnection> ShardConnection::Open(asio::io_context& loop,
                                                       const std::string& address,
                                                       net::SecurityPtr security, wire::Hello hello,
                                                       Receiver receive) {
  const std::shared_ptr<ShardConnection> self(new ShardConnection(
      loop, address, std::move(security), std::move(hello), std::move(receive)));
  self->dial_ = Dial::Start(
      loop, address,
      [self](Result<net::TcpSocket> outcome) { self->OnConnected(std::move(outcome)); },
      [self] { self->receive_({}); });
  return self;
}

void ShardConnection::Send(const wire::NodeMessage& message) {
  if (socket_) directory::Send(*socket_, message);
}

void ShardConnection::Close() {
  closed_ = true;
  dial_->Cancel();
  if (socket_) socket_->Close();
}

void ShardConnection::OnConnected(Result<net::TcpSocket> outcome) {
  if (closed_) return;
  if (!outcome) return End({.error = {ErrorCode::kUnavailable, outcome.error().message}});
  socket_ = std::make_shared<FrameSocket>(loop_, *std::move(outcome), kMaxFrameBytes,
                                          security_.get(), FrameSocket::Side::kConnects);
  const auto self = shared_from_this();
  const auto end = [self](const Error& why) {
    self->End(WhyNoFrame(self->socket_->begun(), why.message));
  };
  socket_->Start({.on_frame = [self](std::string_view frame) { self->Hear(frame); },
                  .on_noise = end,
                  .on_end = end,
                  .on_room = nullptr});
  Send({.hello = hello_});
  receive_({});
}

void ShardConnection::Hear(std::string_view frame) {
  const Result<v1::ShardMessage*> message = reader_.Read(frame);
  if (!message) return End({.error = message.error()});
  if (*message == nullptr) return;
  Result<wire::ShardMessage> read = wire::FromProto(**message);
  if (!read) return End({.error = std::move(read).error()});
  if (read->ended) return End(*std::move(read->ended));
  receive_(*std::move(read));
}

void ShardConnection::End(const std::string& why) {
  End({.error = {ErrorCode::kUnavailable,
                 fmt::format("its session at {} ended: {}", address_, why)}});
}

void ShardConnection::End(wire::Ended why) {
  if (closed_) return;
  Close();
  receive_({.ended = std::move(why)});
}

}  // namespace hoplite::directory
