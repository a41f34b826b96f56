// Gives: small objects on their way from node to node (R83).
//
// Decides: to whom this node hands one on, and with which part of its list; whether there is memory
// for it. Is told: the shard's Gives, and those of peers. Must never: answer a question of which the
// Give does not know, keep more than some MiB, or wait for a peer that takes nothing: the shard
// answers whoever a Give does not reach (R83).
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "net/connection.h"
#include "node/core/context.h"
#include "node/core/counted.h"
#include "node/streams/data_plane.h"
#include "protocol/node_action.h"
#include "wire/frame.h"

namespace hoplite::node {

class Gives {
 public:
  Gives(Context& context, DataPlane& data_plane) : context_(context), data_plane_(data_plane) {}

  // To those of its list. Main loop.
  void HandOn(const protocol::InlineObject& given);
  // This node's copy, to those of the list; nothing if it is not there any more. Main loop.
  void GiveCopy(const protocol::GiveCopy& word);
  // Of a peer; false: it is to be let go. On the connection's loop.
  net::Task<bool> Receive(net::ConnectionPtr connection, wire::Give give);
  // What is on its way through this node. Any thread.
  std::size_t held_bytes() const { return held_bytes_; }

 private:
  // Bytes that this node holds for others; none: there is no room.
  using Room = Counted<std::atomic<std::size_t>>;
  std::shared_ptr<Room> Reserve(std::size_t bytes);

  void Take(const protocol::InlineObject& given);
  // What goes to one peer goes over one connection, and ends with the first that can't be sent.
  net::Task<void> Deliver(DataLoop& data_loop, protocol::NodeInfo to, OutgoingGive give);
  net::Task<bool> Send(DataLoop& data_loop, protocol::NodeInfo to,
                       std::deque<OutgoingGive>& waiting);

  Context& context_;
  DataPlane& data_plane_;
  std::atomic<std::size_t> held_bytes_{0};
};

}  // namespace hoplite::node
