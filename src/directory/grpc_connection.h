// GrpcConnection: the node's end of its gRPC stream to one shard.
//
// Writes one message at a time, batching what comes meanwhile; hands each message of the shard to
// the node's loop, translated, with one post. Must never touch the loop after its last message, the
// one with `ended`. What ends is heard on the queue's thread, Send and Cancel come from the node's
// loop; a mutex orders them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include "base/mutex.h"
#include "directory/grpc_queue.h"
#include "directory/in_flight.h"
#include "directory/outbox.h"
#include "hoplite/v1/directory.grpc.pb.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

class GrpcConnection final : public std::enable_shared_from_this<GrpcConnection> {
 public:
  using Receiver = std::function<void(wire::ShardMessage)>;

  // Keeps itself alive until gRPC is done with it; `flight` ends with it.
  static std::shared_ptr<GrpcConnection> Start(asio::io_context& loop, GrpcQueue& queue,
                                               v1::Directory::Stub& stub, std::string address,
                                               Receiver receive, InFlight::Token flight);

  void Send(const wire::NodeMessage& message);
  void Cancel();

 private:
  GrpcConnection(asio::io_context& loop, std::string address, Receiver receive,
                 InFlight::Token flight);
  void* Tag(void (GrpcConnection::*then)(bool ok));
  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void Read();
  void WriteNext() HOPLITE_REQUIRES(mutex_);
  void CloseForWriting();
  void Finish();
  void Deliver(wire::ShardMessage message);

  const InFlight::Token flight_;  // goes last
  asio::io_context& loop_;
  const std::string address_;
  const Receiver receive_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::NodeMessage, v1::ShardMessage>> stream_;
  // Of the queue's thread.
  v1::ShardMessage incoming_;  // of the read under way
  grpc::Status status_;        // how it ended
  bool ended_ = false;         // the shard said why

  Mutex mutex_;
  Outbox<v1::NodeMessage> outbox_ HOPLITE_GUARDED_BY(mutex_);
  bool writing_ HOPLITE_GUARDED_BY(mutex_) = true;  // or it is still to start
  bool closed_ HOPLITE_GUARDED_BY(mutex_) = false;  // no write starts any more
};

}  // namespace hoplite::directory
