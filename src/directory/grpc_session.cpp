#include "directory/grpc_session.h"

#include <utility>

#include "wire/directory_messages.h"

namespace hoplite::directory {

namespace {

// Messages of one session that may wait for the service; a node that says more is read more slowly.
constexpr std::size_t kMaxUnprocessed = 16;
// Only a node that never reads the answers to its heartbeats has more unread than a window and its
// like: its session ends here.
constexpr std::size_t kMaxUnread = 4 * 1024 * 1024;

void Add(Outbox<v1::ShardMessage>& outbox, const wire::ShardMessage& message) {
  if (message.welcome) *outbox.Add(64).mutable_welcome() = wire::ToProto(*message.welcome);
  for (const protocol::NodeAction& action : message.actions) {
    v1::NodeAction one = wire::ToProto(action);
    *outbox.Add(one.ByteSizeLong() + 8).add_actions() = std::move(one);
  }
  if (message.shard_id) outbox.Add(16).set_shard_id(*message.shard_id);
  if (message.heartbeat_ack) outbox.Add(16).set_heartbeat_ack(*message.heartbeat_ack);
  if (message.ended) *outbox.Add(1024).mutable_ended() = wire::ToProto(*message.ended);
  if (message.number) outbox.Add(16).set_number(*message.number);
  if (message.taken) outbox.Add(16).set_taken(*message.taken);
}

}  // namespace

void GrpcSession::Start(std::shared_ptr<DirectoryService> service, GrpcQueue& queue,
                        std::shared_ptr<Call> call) {
  const std::shared_ptr<GrpcSession> session(
      new GrpcSession(std::move(service), queue, std::move(call)));
  session->service_->Opened(session);
  session->Read();
}

GrpcSession::GrpcSession(std::shared_ptr<DirectoryService> service, GrpcQueue& queue,
                         std::shared_ptr<Call> call)
    : service_(std::move(service)), queue_(queue), call_(std::move(call)) {}

// For an operation that begins now.
void* GrpcSession::Tag(void (GrpcSession::*then)(bool ok)) {
  ++operations_;
  return GrpcQueue::Tag([self = shared_from_this(), then](bool ok) {
    (self.get()->*then)(ok);
    if (--self->operations_ > 0 || !self->finished_) return;
    self->service_->Closed(self);
    self->call_.reset();  // the server may stop now: the service has been told
  });
}

void GrpcSession::Send(wire::ShardMessage message) {
  if (ending_ || finished_) return;
  Add(outbox_, message);
  if (outbox_.bytes() > kMaxUnread) call_->context.TryCancel();
  WriteNext();
}

void GrpcSession::End(wire::Ended why) {
  if (ending_ || finished_) return;
  outbox_.Clear();
  Add(outbox_, {.ended = std::move(why)});
  FinishWhenWritten();
}

void GrpcSession::Abort() {
  if (!call_) return;
  call_->context.TryCancel();
  outbox_.Clear();
  FinishWhenWritten();
}

void GrpcSession::WriteNext() {
  if (writing_ || finished_) return;
  if (!outbox_.empty()) {
    writing_ = true;
    call_->stream.Write(outbox_.Take(), Tag(&GrpcSession::OnWritten));
  } else if (ending_) {
    finished_ = true;
    call_->stream.Finish(grpc::Status::OK, Tag(&GrpcSession::OnFinished));
  }
}

void GrpcSession::FinishWhenWritten() {
  ending_ = true;
  WriteNext();
}

void GrpcSession::OnWritten(bool ok) {
  writing_ = false;
  if (!ok) {
    outbox_.Clear();
    ending_ = true;
  }
  WriteNext();
}

void GrpcSession::Read() { call_->stream.Read(&incoming_, Tag(&GrpcSession::OnRead)); }

void GrpcSession::OnRead(bool ok) {
  const std::shared_ptr<GrpcSession> self = shared_from_this();
  if (!ok) {
    service_->Closed(self);
    return FinishWhenWritten();
  }
  Result<wire::NodeMessage> message = wire::FromProto(incoming_);
  if (!message) return service_->Fail(self, std::move(message).error());
  ++unprocessed_;
  service_->Receive(self, *std::move(message));
  // When it was answered: to ask for more makes gRPC write, which the answer would wait for.
  queue_.Post([self] { self->ReadOn(); });
}

void GrpcSession::ReadOn() {
  reading_paused_ = unprocessed_ > kMaxUnprocessed;  // Processed reads on
  if (!reading_paused_ && !finished_) Read();
}

void GrpcSession::Processed() {
  --unprocessed_;
  if (std::exchange(reading_paused_, false) && !finished_) Read();
}

}  // namespace hoplite::directory
