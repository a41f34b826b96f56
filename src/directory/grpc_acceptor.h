// GrpcAcceptor: a shard's listening port. gRPC's own listener (1.51) never accepts again once
// descriptors have run out; this one waits a little and goes on, and hands what it accepts to gRPC.
// On a thread of its own: a flood of strangers takes no time from the sessions' loop.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <grpcpp/server_builder.h>

#include <hoplite/result.h>

#include "net/tcp_listener.h"

namespace hoplite::directory {

class GrpcAcceptor {
 public:
  using Gate = grpc::experimental::ExternalConnectionAcceptor;

  // Bound and listening: who connects waits for Start.
  static Result<std::unique_ptr<GrpcAcceptor>> Open(const std::string& listen);
  ~GrpcAcceptor();

  // `gate` is that of a running server, and stays until Stop.
  Result<void> Start(Gate& gate);
  // Before the server shuts down: afterwards it takes no connection.
  void Stop();
  const std::string& address() const { return address_; }  // HOST:PORT really bound

 private:
  GrpcAcceptor() = default;
  Result<void> Bind(const std::string& listen);
  void Wait();
  void AcceptWaiting(Gate& gate);
  void Pause();

  asio::io_context loop_{1};
  net::TcpAcceptor acceptor_{loop_};
  asio::steady_timer pause_{loop_};
  std::thread thread_;
  Gate* gate_ = nullptr;
  bool failing_ = false;  // told so in the log
  std::string address_;
};

}  // namespace hoplite::directory
