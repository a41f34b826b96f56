// GrpcSession: the shard's end of one node's gRPC stream.
//
// Translates what the node says and hands it to the service, once per message; writes one message
// at a time, batching what comes meanwhile: a window of words at most, and what needs no answer.
// Must never block a gRPC thread, queue more than its bounds in either direction, or touch the
// stream after it finished. Callbacks come on gRPC's threads, Session's functions on the service's
// loop; a mutex orders them.
#pragma once

#include <cstddef>
#include <memory>

#include <grpcpp/support/server_callback.h>

#include "base/mutex.h"
#include "directory/directory_service.h"
#include "directory/outbox.h"
#include "directory/session.h"
#include "hoplite/v1/directory.pb.h"

namespace hoplite::directory {

class GrpcSession final : public grpc::ServerBidiReactor<v1::NodeMessage, v1::ShardMessage>,
                          public Session,
                          public std::enable_shared_from_this<GrpcSession> {
 public:
  // Keeps itself alive until gRPC is done with it.
  static GrpcSession* Start(std::shared_ptr<DirectoryService> service,
                            grpc::CallbackServerContext* context);

  void Send(wire::ShardMessage message) override;
  void Processed() override;
  void End(wire::Ended why) override;
  void Abort() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  GrpcSession(std::shared_ptr<DirectoryService> service, grpc::CallbackServerContext* context);
  void WriteNext() HOPLITE_REQUIRES(mutex_);
  void FinishWhenWritten() HOPLITE_REQUIRES(mutex_);

  const std::shared_ptr<DirectoryService> service_;
  v1::NodeMessage incoming_;  // of the read under way

  Mutex mutex_;
  v1::ShardMessage outgoing_ HOPLITE_GUARDED_BY(mutex_);             // of the write under way
  grpc::CallbackServerContext* context_ HOPLITE_GUARDED_BY(mutex_);  // null when gRPC is done
  std::shared_ptr<GrpcSession> self_ HOPLITE_GUARDED_BY(mutex_);
  Outbox<v1::ShardMessage> outbox_ HOPLITE_GUARDED_BY(mutex_);
  // Messages that the service has not taken in; while they are many, reading pauses.
  std::size_t unprocessed_ HOPLITE_GUARDED_BY(mutex_) = 0;
  bool reading_paused_ HOPLITE_GUARDED_BY(mutex_) = false;
  bool writing_ HOPLITE_GUARDED_BY(mutex_) = false;
  // Nothing more is queued; the session finishes when the outbox is empty.
  bool ending_ HOPLITE_GUARDED_BY(mutex_) = false;
  bool finished_ HOPLITE_GUARDED_BY(mutex_) = false;  // Finish was called
};

}  // namespace hoplite::directory
