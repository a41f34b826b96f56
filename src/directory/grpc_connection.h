// GrpcConnection: the node's end of its gRPC stream to one shard.
//
// Writes one message at a time, batching what comes meanwhile; hands each message of the shard to
// the node's loop, translated, with one post. Must never touch the loop after its last message, the
// one with `ended`. Callbacks come on gRPC's threads, Send and Close from the node's loop; a mutex
// orders them.
#pragma once

#include <functional>
#include <memory>

#include <asio/io_context.hpp>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include "base/mutex.h"
#include "directory/in_flight.h"
#include "directory/outbox.h"
#include "hoplite/v1/directory.grpc.pb.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

class GrpcConnection final : public grpc::ClientBidiReactor<v1::NodeMessage, v1::ShardMessage> {
 public:
  using Receiver = std::function<void(wire::ShardMessage)>;

  // Keeps itself alive until gRPC is done with it; `flight` ends then.
  static std::shared_ptr<GrpcConnection> Start(asio::io_context& loop, v1::Directory::Stub& stub,
                                               std::string address, Receiver receive,
                                               InFlight::Token flight);

  void Send(const wire::NodeMessage& message);
  void Cancel();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  GrpcConnection(asio::io_context& loop, std::string address, Receiver receive,
                 InFlight::Token flight);
  void WriteNext() HOPLITE_REQUIRES(mutex_);
  void CloseForWriting();
  void Deliver(wire::ShardMessage message);

  asio::io_context& loop_;
  const std::string address_;
  const Receiver receive_;
  InFlight::Token flight_;
  grpc::ClientContext context_;
  v1::ShardMessage incoming_;  // of the read under way
  bool ended_ = false;         // the shard said why; gRPC's callbacks of reads only

  Mutex mutex_;
  v1::NodeMessage outgoing_ HOPLITE_GUARDED_BY(mutex_);  // of the write under way
  std::shared_ptr<GrpcConnection> self_ HOPLITE_GUARDED_BY(mutex_);
  Outbox<v1::NodeMessage> outbox_ HOPLITE_GUARDED_BY(mutex_);
  bool writing_ HOPLITE_GUARDED_BY(mutex_) = false;
  bool closed_ HOPLITE_GUARDED_BY(mutex_) = false;  // no write starts any more
};

}  // namespace hoplite::directory
