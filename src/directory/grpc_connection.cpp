#include "directory/grpc_connection.h"

#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "wire/directory_messages.h"

namespace hoplite::directory {

std::shared_ptr<GrpcConnection> GrpcConnection::Start(asio::io_context& loop,
                                                      v1::Directory::Stub& stub,
                                                      std::string address, Receiver receive,
                                                      InFlight::Token flight) {
  const std::shared_ptr<GrpcConnection> connection(
      new GrpcConnection(loop, std::move(address), std::move(receive), std::move(flight)));
  {
    const MutexLock lock(connection->mutex_);
    connection->self_ = connection;
  }
  stub.async()->Session(&connection->context_, connection.get());
  connection->AddHold();  // writes start outside of callbacks; until CloseForWriting
  connection->StartRead(&connection->incoming_);
  connection->StartCall();
  return connection;
}

GrpcConnection::GrpcConnection(asio::io_context& loop, std::string address, Receiver receive,
                               InFlight::Token flight)
    : loop_(loop),
      address_(std::move(address)),
      receive_(std::move(receive)),
      flight_(std::move(flight)) {}

void GrpcConnection::Send(const wire::NodeMessage& message) {
  const MutexLock lock(mutex_);
  if (closed_) return;
  if (message.hello) *outbox_.Add(1024).mutable_hello() = wire::ToProto(*message.hello);
  for (const protocol::NodeEvent& event : message.events) {
    v1::NodeEvent one = wire::ToProto(event);
    *outbox_.Add(one.ByteSizeLong() + 8).add_events() = std::move(one);
  }
  if (message.heartbeat) outbox_.Add(16).set_heartbeat(*message.heartbeat);
  if (message.claims) {
    v1::Claims claims = wire::ToProto(*message.claims);
    *outbox_.Add(claims.ByteSizeLong() + 8).mutable_claims() = std::move(claims);
  }
  if (message.number) outbox_.Add(16).set_number(*message.number);
  if (message.taken) outbox_.Add(16).set_taken(*message.taken);
  WriteNext();
}

void GrpcConnection::Cancel() {
  context_.TryCancel();
  CloseForWriting();
}

void GrpcConnection::WriteNext() {
  if (writing_ || closed_ || outbox_.empty()) return;
  writing_ = true;
  outgoing_ = outbox_.Take();
  StartWrite(&outgoing_);
}

void GrpcConnection::CloseForWriting() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    outbox_.Clear();
  }
  RemoveHold();
}

void GrpcConnection::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (ok) WriteNext();  // otherwise the read fails too, and ends the connection
}

void GrpcConnection::OnReadDone(bool ok) {
  if (!ok) return CloseForWriting();
  Result<wire::ShardMessage> message = wire::FromProto(incoming_);
  if (!message) {
    ended_ = true;
    Deliver({.ended = wire::Ended{.error = std::move(message).error()}});
    return Cancel();
  }
  ended_ = message->ended.has_value();
  Deliver(*std::move(message));
  if (ended_) return Cancel();
  StartRead(&incoming_);
}

void GrpcConnection::Deliver(wire::ShardMessage message) {
  asio::post(loop_, [receive = receive_, message = std::move(message)]() mutable {
    receive(std::move(message));
  });
}

void GrpcConnection::OnDone(const grpc::Status& status) {
  if (!ended_) {
    Deliver({.ended = wire::Ended{.error = {ErrorCode::kUnavailable,
                                            fmt::format("its session at {} ended: {}", address_,
                                                        status.error_message())}}});
  }
  const InFlight::Token flight = std::move(flight_);  // dropped last: nothing is left then
  std::shared_ptr<GrpcConnection> self;
  const MutexLock lock(mutex_);
  self = std::move(self_);
}

}  // namespace hoplite::directory
