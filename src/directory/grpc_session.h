// GrpcSession: the shard's end of one node's gRPC stream.
//
// Translates what the node says and hands it to the service, once per message; writes one message
// at a time, batching what comes meanwhile: a window of words at most, and what needs no answer.
// Must never block, queue more than its bounds in either direction, or touch the stream after it
// finished. All of it happens on the queue's thread, which is the service's loop.
#pragma once

#include <cstddef>
#include <memory>

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include "directory/directory_service.h"
#include "directory/grpc_queue.h"
#include "directory/in_flight.h"
#include "directory/outbox.h"
#include "directory/session.h"
#include "hoplite/v1/directory.grpc.pb.h"

namespace hoplite::directory {

class GrpcSession final : public Session, public std::enable_shared_from_this<GrpcSession> {
 public:
  // What gRPC needs as long as the stream lives. A node opened it.
  struct Call {
    grpc::ServerContext context;
    grpc::ServerAsyncReaderWriter<v1::ShardMessage, v1::NodeMessage> stream{&context};
    InFlight::Token flight;
  };

  // Keeps itself alive until gRPC is done with it.
  static void Start(std::shared_ptr<DirectoryService> service, GrpcQueue& queue,
                    std::shared_ptr<Call> call);

  void Send(wire::ShardMessage message) override;
  void Processed() override;
  void End(wire::Ended why) override;
  void Abort() override;

 private:
  GrpcSession(std::shared_ptr<DirectoryService> service, GrpcQueue& queue,
              std::shared_ptr<Call> call);
  void* Tag(void (GrpcSession::*then)(bool ok));
  void Read();
  void OnRead(bool ok);
  void ReadOn();
  void OnWritten(bool ok);
  void OnFinished(bool /*ok*/) {}
  void WriteNext();
  void FinishWhenWritten();

  const std::shared_ptr<DirectoryService> service_;
  GrpcQueue& queue_;
  std::shared_ptr<Call> call_;  // null when gRPC is done
  int operations_ = 0;          // under way
  v1::NodeMessage incoming_;    // of the read under way
  Outbox<v1::ShardMessage> outbox_;
  // Messages that the service has not taken in; while they are many, reading pauses.
  std::size_t unprocessed_ = 0;
  bool reading_paused_ = false;
  bool writing_ = false;
  bool ending_ = false;    // nothing more is queued; it finishes when the outbox is empty
  bool finished_ = false;  // Finish was called
};

}  // namespace hoplite::directory
