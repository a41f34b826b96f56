// Serve: the answering side of the data plane. One conversation per connection: handshake, then one
// fetch, or Give, after the other.
//
// Decides: whether a FETCH may be served (the watermark-order rule), and whether it came too early
// to tell (R49) or before this copy is ahead (R7). Is told: frames of the peer, growth of the copy.
// Must never: send a byte above a mark, say END(final) before the copy is final, hold the loop
// while there is nothing to send, or trust a number from the wire. Strangers are greeted on data
// loops; a conversation goes on where the bytes that it asks for move. Copies are looked up on the
// main loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

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
  // What the peer asks for, one after the other, until it leaves or its next bytes go on another loop.
  net::Task<void> ServeAll(DataLoop& data_loop, net::ConnectionPtr connection);
  net::Task<Result<net::ConnectionPtr>> Welcome(DataLoop& data_loop, net::StreamPtr stream);
  net::Task<bool> TellTrace(net::ConnectionPtr connection);
  net::Task<bool> TellCheckUp(DataLoop& data_loop, net::ConnectionPtr connection,
                              wire::CheckAsk ask);
  // True: the answer has left.
  net::Task<bool> Tell(net::ConnectionPtr connection, wire::Frame frame,
                       std::vector<std::byte> told);
  // Calls `answer` when the node knows whether its Put of the object was accepted, and its copy is
  // ahead of the receiver; or soon.
  net::Task<void> Hold(wire::Fetch fetch, std::function<void()> answer);
  net::Task<bool> ServeOne(DataLoop& data_loop, net::ConnectionPtr connection, wire::Fetch fetch);
  net::Task<bool> SendCopy(net::ConnectionPtr connection, store::CopyPtr copy, wire::Fetch fetch);
  // Where the bytes of this copy belong, if the connection can go there. Null: it stays.
  DataLoop* Elsewhere(const DataLoop& data_loop, const store::Copy& copy);
  net::Task<void> GoOn(DataLoop& data_loop, net::ConnectionPtr connection, store::CopyPtr copy,
                       wire::Fetch fetch);

  Context& context_;
  DataPlane& data_plane_;
  Gives& gives_;
};

}  // namespace hoplite::node
