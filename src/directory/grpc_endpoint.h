// GrpcEndpoint: the calls of a shard's gRPC service. It takes each in, and goes on to wait for the
// next of its kind.
//
// Sessions become GrpcSessions; questions are answered by the service. All of it happens on the
// queue's thread, which is the service's loop, but that pictures of the shard are translated on
// another: the loop has sessions to serve.
#pragma once

#include <memory>

#include <asio/thread_pool.hpp>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include "directory/directory_service.h"
#include "directory/grpc_queue.h"
#include "directory/in_flight.h"
#include "hoplite/v1/directory.grpc.pb.h"

namespace hoplite::directory {

class GrpcEndpoint {
 public:
  GrpcEndpoint(std::shared_ptr<DirectoryService> service, GrpcQueue& queue,
               grpc::ServerCompletionQueue& arrivals)
      : service_(std::move(service)), queue_(queue), arrivals_(arrivals) {}

  // What a server is told that it serves.
  grpc::Service& calls() { return calls_; }
  // That server runs.
  void Start();
  // The server was shut down: waits until every call has ended.
  void WaitForNone() { in_flight_.WaitForNone(); }

 private:
  // A question that was asked, or the next one that will be.
  template <typename Request, typename Reply>
  struct Question {
    grpc::ServerContext context;
    Request request;
    grpc::ServerAsyncResponseWriter<Reply> responder{&context};
    InFlight::Token flight;
  };
  using StatusCall = Question<v1::StatusRequest, v1::StatusReply>;
  using InfoCall = Question<v1::InfoRequest, v1::InfoReply>;

  void AwaitSession();
  void AwaitStatus();
  void AwaitInfo();
  void Answer(const std::shared_ptr<StatusCall>& call);
  void Answer(const std::shared_ptr<InfoCall>& call);

  const std::shared_ptr<DirectoryService> service_;
  GrpcQueue& queue_;
  grpc::ServerCompletionQueue& arrivals_;  // the same queue
  v1::Directory::AsyncService calls_;
  InFlight in_flight_;
  asio::thread_pool translators_{1};
};

}  // namespace hoplite::directory
