// How a client comes to its connection.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <hoplite/client.h>

#include "base/try.h"
#include "client/client_access.h"
#include "client/no_descriptor.h"

namespace hoplite {
namespace {

Result<int> ConnectSocket(const std::string& path, std::chrono::milliseconds timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, fmt::format("node's socket {}: a path has 1 to {} bytes",
                                                       path, sizeof address.sun_path - 1)));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0 && errno == EMFILE) return std::unexpected(client::NoDescriptorLeft());
  if (descriptor < 0) {
    return std::unexpected(
        Error(ErrorCode::kResourceExhausted, fmt::format("a socket: {}", strerror(errno))));
  }
  // Bounds the connect: it waits while the node's queue of connections is full.
  const auto ms = std::clamp<std::int64_t>(timeout.count(), 1, 3600 * 1000);
  const timeval limit{.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return descriptor;
  }
  const int error = errno;
  ::close(descriptor);
  return std::unexpected(
      Error(ErrorCode::kUnavailable, fmt::format("no node at {}: {}", path, strerror(error))));
}

}  // namespace

Client ClientAccess::Make(std::shared_ptr<client::Connection> connection) {
  return Client(std::make_shared<Client::State>(std::move(connection)));
}

Result<Client> Client::Connect(const std::string& socket, std::chrono::milliseconds timeout) {
  TRY_ASSIGN(const int descriptor, ConnectSocket(socket, timeout));
  TRY_ASSIGN(auto connection, client::Connection::Attach(descriptor, client::SegmentMap(),
                                                         client::DeadlineAfter(timeout)));
  return ClientAccess::Make(std::move(connection));
}

Client::Client(std::shared_ptr<State> state) : state_(std::move(state)) {}
Client::Client(const Client&) = default;
Client& Client::operator=(const Client&) = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;
void Client::Close() { state_->connection->Close(); }

}  // namespace hoplite
