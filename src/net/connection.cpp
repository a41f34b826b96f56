#include "net/connection.h"

namespace hoplite::net {

Task<Result<void>> Connection::Send(wire::Frame frame) const {
  const std::vector<std::byte> bytes = wire::Encode(frame);
  const Payload none;
  co_return co_await stream->Send(bytes, none);
}

}  // namespace hoplite::net
