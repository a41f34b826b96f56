// One non-blocking system call each; the result and errno are the kernel's.
#pragma once

#include <cstddef>
#include <span>
#include <system_error>

#include <sys/types.h>

#include "net/stream.h"

namespace hoplite::net {

// Sends at most `most` bytes of head followed by payload, from byte `done` on; a large payload with
// a descriptor goes by sendfile. Never raises SIGPIPE.
ssize_t SendOnce(int socket, std::span<const std::byte> head, const Payload& payload,
                 std::size_t done, std::size_t most);
// The same of several, from byte `done` of all of them on, whatever descriptors they have.
ssize_t SendMany(int socket, std::span<const Outgoing> pieces, std::size_t done, std::size_t most);
std::size_t BytesOf(std::span<const Outgoing> pieces);
// Into the first, then into the second.
ssize_t ReceiveOnce(int socket, std::span<std::byte> first, std::span<std::byte> second);
// Options of every connection.
void TuneSocket(int socket);
// A program that this process starts must not keep a port or a connection of ours open. Called for
// every socket that Asio makes, as soon as it is made.
void CloseOnExec(int socket);
// Whether a call failed because this process, or the machine, has no descriptor left.
bool NoDescriptorLeft(const std::error_code& error);

}  // namespace hoplite::net
