// How a connection ends whose peer is told why it is refused. The kernel takes back what the peer has
// not read yet once it closes a socket with bytes that nobody read, or hears more of them.
#pragma once

#include <asio/io_context.hpp>

#include "net/tcp_stream.h"

namespace hoplite::net {

// Closes the socket once the peer has closed its end, or after a second, or after 64 KiB of what the
// peer still says, which nobody reads. Of more than 64 at a time the others are closed at once. Nobody
// waits for the socket any more. On the loop.
void CloseOnceHeard(asio::io_context& loop, TcpSocket socket);

}  // namespace hoplite::net
