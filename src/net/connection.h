// A stream between two nodes that know each other: what a handshake makes and a pool keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "net/frame_reader.h"
#include "net/stream.h"
#include "wire/frame.h"

namespace hoplite::net {

struct Connection {
  Connection(StreamPtr stream_in, NodeId peer_in)
      : stream(std::move(stream_in)), reader(stream), peer(peer_in) {}

  // Sends a frame that has no payload.
  Task<Result<void>> Send(wire::Frame frame) const;
  // The same between two conversations, on another loop; this one is closed. Null: it stays.
  std::shared_ptr<Connection> MoveTo(asio::io_context& loop) const;

  const StreamPtr stream;
  FrameReader reader;
  NodeId peer;
  std::string address;  // as it was dialled; empty at the accepting side
};

using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace hoplite::net
