#include "directory/tcp_session.h"

#include <utility>

#include "wire/directory_messages.h"

namespace hoplite::directory {
namespace {

// While more wait for the service, nothing is read.
constexpr std::size_t kMaxUnprocessed = 16;

}  // namespace

void TcpSession::Start(std::shared_ptr<DirectoryService> service,
                       std::shared_ptr<FrameSocket> socket, v1::NodeMessage& first) {
  const std::shared_ptr<TcpSession> self(new TcpSession(std::move(service), std::move(socket)));
  self->socket_->SetMaxFrame(kMaxFrameBytes);
  self->socket_->SetHooks({.on_frame = [self](std::string_view frame) { self->Hear(frame); },
                           .on_noise = [self](Error why) { self->Fail(std::move(why)); },
                           .on_end = [self](const Error&) { self->service_->Closed(self); },
                           .on_room = nullptr});
  self->Take(first);
}

void TcpSession::Hear(std::string_view frame) {
  const Result<v1::NodeMessage*> message = reader_.Read(frame);
  if (!message) return Fail(message.error());
  if (*message != nullptr) Take(**message);
}

void TcpSession::Take(v1::NodeMessage& message) {
  Result<wire::NodeMessage> read = wire::FromProto(message);
  if (!read) return Fail(std::move(read).error());
  if (++unprocessed_ > kMaxUnprocessed) socket_->Pause();
  service_->Receive(shared_from_this(), *std::move(read));
}

// The service says so to the node, and ends the session.
void TcpSession::Fail(Error why) {
  failed_ = true;
  socket_->Pause();
  service_->Fail(shared_from_this(), std::move(why));
}

void TcpSession::Send(wire::ShardMessage message) { directory::Send(*socket_, message); }

void TcpSession::Processed() {
  if (--unprocessed_ <= kMaxUnprocessed && !failed_) socket_->Resume();
}

void TcpSession::End(wire::Ended why) { SendLast(*socket_, why); }

void TcpSession::Abort() {
  gone = true;
  socket_->Close();
}

}  // namespace hoplite::directory
