#include "directory/grpc_session.h"

#include <utility>

#include <grpcpp/server_context.h>

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

GrpcSession* GrpcSession::Start(std::shared_ptr<DirectoryService> service,
                                grpc::CallbackServerContext* context) {
  const std::shared_ptr<GrpcSession> session(new GrpcSession(std::move(service), context));
  {
    const MutexLock lock(session->mutex_);
    session->self_ = session;
  }
  session->service_->Opened(session);
  session->StartRead(&session->incoming_);
  return session.get();
}

GrpcSession::GrpcSession(std::shared_ptr<DirectoryService> service,
                         grpc::CallbackServerContext* context)
    : service_(std::move(service)), context_(context) {}

void GrpcSession::Send(wire::ShardMessage message) {
  const MutexLock lock(mutex_);
  if (ending_ || finished_) return;
  Add(outbox_, message);
  if (outbox_.bytes() > kMaxUnread && context_) context_->TryCancel();
  WriteNext();
}

void GrpcSession::End(wire::Ended why) {
  const MutexLock lock(mutex_);
  if (ending_ || finished_) return;
  outbox_.Clear();
  Add(outbox_, {.ended = std::move(why)});
  FinishWhenWritten();
}

void GrpcSession::Abort() {
  const MutexLock lock(mutex_);
  if (!context_) return;
  context_->TryCancel();
  outbox_.Clear();
  FinishWhenWritten();
}

void GrpcSession::WriteNext() {
  if (writing_ || finished_) return;
  if (!outbox_.empty()) {
    writing_ = true;
    outgoing_ = outbox_.Take();
    StartWrite(&outgoing_);
  } else if (ending_) {
    finished_ = true;
    Finish(grpc::Status::OK);
  }
}

void GrpcSession::FinishWhenWritten() {
  ending_ = true;
  WriteNext();
}

void GrpcSession::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  writing_ = false;
  if (!ok) {
    outbox_.Clear();
    ending_ = true;
  }
  WriteNext();
}

void GrpcSession::OnReadDone(bool ok) {
  const std::shared_ptr<GrpcSession> self = shared_from_this();
  if (!ok) {
    service_->Closed(self);
    const MutexLock lock(mutex_);
    FinishWhenWritten();
    return;
  }
  Result<wire::NodeMessage> message = wire::FromProto(incoming_);
  if (!message) return service_->Fail(self, std::move(message).error());
  bool pause = false;
  {
    const MutexLock lock(mutex_);
    ++unprocessed_;
    pause = reading_paused_ = unprocessed_ > kMaxUnprocessed;
  }
  service_->Receive(self, *std::move(message));
  if (pause) return;  // Processed reads on
  const MutexLock lock(mutex_);
  if (!finished_) StartRead(&incoming_);
}

void GrpcSession::Processed() {
  const MutexLock lock(mutex_);
  --unprocessed_;
  if (!std::exchange(reading_paused_, false) || finished_) return;
  StartRead(&incoming_);
}

void GrpcSession::OnCancel() {
  const MutexLock lock(mutex_);
  outbox_.Clear();
  FinishWhenWritten();
}

void GrpcSession::OnDone() {
  std::shared_ptr<GrpcSession> self;
  {
    const MutexLock lock(mutex_);
    context_ = nullptr;
    finished_ = true;
    self = std::move(self_);
  }
  service_->Closed(std::move(self));
}

}  // namespace hoplite::directory
