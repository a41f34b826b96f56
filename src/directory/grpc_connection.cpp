#include "directory/grpc_connection.h"

#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>

#include "wire/directory_messages.h"

namespace hoplite::directory {

std::shared_ptr<GrpcConnection> GrpcConnection::Start(asio::io_context& loop, GrpcQueue& queue,
                                                      v1::Directory::Stub& stub,
                                                      std::string address, Receiver receive,
                                                      InFlight::Token flight) {
  const std::shared_ptr<GrpcConnection> connection(
      new GrpcConnection(loop, std::move(address), std::move(receive), std::move(flight)));
  connection->stream_ = stub.PrepareAsyncSession(&connection->context_, &queue.queue());
  connection->stream_->StartCall(connection->Tag(&GrpcConnection::OnStarted));
  return connection;
}

GrpcConnection::GrpcConnection(asio::io_context& loop, std::string address, Receiver receive,
                               InFlight::Token flight)
    : flight_(std::move(flight)),
      loop_(loop),
      address_(std::move(address)),
      receive_(std::move(receive)) {}

void* GrpcConnection::Tag(void (GrpcConnection::*then)(bool ok)) {
  return GrpcQueue::Tag([self = shared_from_this(), then](bool ok) { (self.get()->*then)(ok); });
}

void GrpcConnection::Send(const wire::NodeMessage& message) {
  const MutexLock lock(mutex_);
  if (closed_) return;
  if (message.hello) *outbox_.Add(1024).mutable_hello() = wire::ToProto(*message.hello);
  for (const protocol::NodeEvent& event : message.events) {
    v1::NodeEvent one = wire::ToProto(event);
    *outbox_.Add(one.ByteSizeLong() + 8).add_events() = std::move(one);
  }
  if (message.heartbeat) outbox_.Add(16).set_heartbeat(*message.heartbeat);
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
  stream_->Write(outbox_.Take(), Tag(&GrpcConnection::OnWritten));
}

void GrpcConnection::CloseForWriting() {
  const MutexLock lock(mutex_);
  closed_ = true;
  outbox_.Clear();
}

void GrpcConnection::OnStarted(bool ok) {
  if (!ok) return Finish();
  Read();
  OnWritten(true);
}

void GrpcConnection::OnWritten(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (ok) WriteNext();  // otherwise the read fails too, and ends the connection
}

void GrpcConnection::Read() { stream_->Read(&incoming_, Tag(&GrpcConnection::OnRead)); }

void GrpcConnection::OnRead(bool ok) {
  if (!ok) return Finish();
  Result<wire::ShardMessage> message = wire::FromProto(incoming_);
  ended_ = !message || message->ended.has_value();
  Deliver(message ? *std::move(message)
                  : wire::ShardMessage{.ended = wire::Ended{.error = std::move(message).error()}});
  if (!ended_) return Read();
  Cancel();
  Finish();
}

void GrpcConnection::Finish() {
  CloseForWriting();
  stream_->Finish(&status_, Tag(&GrpcConnection::OnFinished));
}

void GrpcConnection::OnFinished(bool /*ok*/) {
  if (ended_) return;
  Deliver({.ended = wire::Ended{.error = {ErrorCode::kUnavailable,
                                          fmt::format("its session at {} ended: {}", address_,
                                                      status_.error_message())}}});
}

void GrpcConnection::Deliver(wire::ShardMessage message) {
  asio::post(loop_, [receive = receive_, message = std::move(message)]() mutable {
    receive(std::move(message));
  });
}

}  // namespace hoplite::directory
