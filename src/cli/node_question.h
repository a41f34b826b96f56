// How a command speaks with a node at its data port, beside the node's peers.
#pragma once

#include <cstddef>
#include <memory>

#include <asio/io_context.hpp>

#include <hoplite/result.h>

#include "base/time.h"
#include "net/connection.h"
#include "net/handshake.h"
#include "net/stream.h"
#include "protocol/node_info.h"

namespace hoplite::cli {

// Connected and greeted within the timeout each. An error says what stood in the way.
net::Task<Result<net::ConnectionPtr>> ConnectTo(std::shared_ptr<net::Transport> transport,
                                                net::Identity self, protocol::NodeInfo node,
                                                Duration timeout);

// What members are asked for on one loop, until all of them have answered.
class Questions {
 public:
  asio::io_context& loop() { return loop_; }
  void Await(std::size_t answers) { open_ += answers; }
  void Ended() {
    if (--open_ == 0) loop_.stop();
  }
  // Each question has its own deadline, within `most`; a second more is for what comes at it.
  void Run(Duration most);

 private:
  asio::io_context loop_;
  std::size_t open_ = 0;  // answers that have still to come
};

// What is known of a member before it answers.
Error NoAnswer();

}  // namespace hoplite::cli
