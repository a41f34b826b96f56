#include "net/connection.h"

namespace hoplite::net {

Task<Result<void>> Connection::Send(wire::Frame frame) const {
  const std::vector<std::byte> bytes = wire::Encode(frame);
  const Payload none;
  co_return co_await stream->Send(bytes, none);
}

ConnectionPtr Connection::MoveTo(asio::io_context& loop) const {
  if (!reader.at_rest()) return nullptr;
  const StreamPtr moved = stream->MoveTo(loop);
  return moved ? std::make_shared<Connection>(moved, peer) : nullptr;
}

}  // namespace hoplite::net
