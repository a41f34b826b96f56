// Serve: the answering side of the data plane. One conversation per connection: handshake, then one
// fetch, or Give, after the other.
//
// Decides: whether a FETCH may be served (the watermark-order rule), and whether it came too early
// to tell (R49) or before this copy is ahead (R7). Is told: frames of the peer, growth of the copy.
// Must never: send a byte above a mark, say END(final) before the copy is final, hold the loop
// while there is nothing to send, or trust a number from the wire. Conversations run on data loops;
// copies are looked up on the main loop.
#pragma once

#include <functional>
#include <memory>

#include "net/connection.h"
#include "node/core/context.h"
#include "node/give/gives.h"
#include "node/streams/data_plane.h"
#include "wire/frame.h"

namespace hoplite::node {

class Server {
 public:
  Server(Context& context, DataPlane& data_plane, Gives& gives)
      : context_(context), data_plane_(data_plane), gives_(gives) {}

  // A peer connected, on the data loop.
  void Accept(DataLoop& data_loop, net::StreamPtr stream);

 private:
  net::Task<void> Converse(DataLoop& data_loop, net::StreamPtr stream);
  net::Task<Result<net::ConnectionPtr>> Welcome(DataLoop& data_loop, net::StreamPtr stream);
  net::Task<bool> TellTrace(net::ConnectionPtr connection);
  // Calls `answer` when the node knows whether its Put of the object was accepted, and its copy is
  // ahead of the receiver; or soon.
  net::Task<void> Hold(wire::Fetch fetch, std::function<void()> answer);
  net::Task<bool> ServeOne(DataLoop& data_loop, net::ConnectionPtr connection, wire::Fetch fetch);

  Context& context_;
  DataPlane& data_plane_;
  Gives& gives_;
};

}  // namespace hoplite::node
