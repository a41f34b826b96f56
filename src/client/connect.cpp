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

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/socket_path.h"
#include "base/try.h"
#include "client/client_access.h"
#include "client/empty.h"
#include "client/interruption.h"
#include "client/no_descriptor.h"
#include "client/no_node.h"
#include "client/own_node.h"

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
  return std::unexpected(client::NoNode(path, error));
}

// A node that is there answers at once.
constexpr std::chrono::milliseconds kConnectPatience{5000};

Result<std::shared_ptr<client::Connection>> Attach(const std::string& path, client::NodeOf whose,
                                                   std::chrono::milliseconds timeout) {
  TRY_ASSIGN(const int descriptor, ConnectSocket(path, timeout));
  FileDescriptor socket(descriptor);
  if (whose == client::NodeOf::kSelfOrRoot) TRY(client::RequireOwnNode(descriptor, path));
  return client::Connection::Attach(socket.Release(), client::SegmentMap(),
                                    client::DeadlineAfter(timeout));
}

}  // namespace

std::shared_ptr<client::Connection> Client::State::Now(Time deadline) {
  if (!process.here()) return client::Connection::Ended(client::Connection::Inherited());
  if (!mutex.LockBefore(deadline)) {
    return client::Connection::Ended(
        Error(ErrorCode::kTimeout, "no connection to the node at " + path + " in time"));
  }
  // It goes after the lock: its end waits for its reader, whose functions may be coming here.
  std::shared_ptr<client::Connection> before = Current();
  const TimedMutexLock lock(AlreadyLocked(), mutex);
  if (path.empty() || closed || !before->lost()) return before;
  const client::Uninterrupted attaching;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - hoplite::Now());
  auto made = Attach(path, whose, std::clamp(left, std::chrono::milliseconds(1), kConnectPatience));
  if (!made) return client::Connection::Ended(made.error());
  const MutexLock changing(current_mutex);
  return current = *std::move(made);
}

std::shared_ptr<client::Connection> Client::State::Current() {
  const MutexLock lock(current_mutex);
  return current;
}

// The connection itself may go on: buffers and drafts have it, too.
Client::State::~State() {
  if (process.here() && !closed) current->Leave();
}

std::string Client::State::NodeName() {
  if (!process.here()) return {};
  return Current()->node();
}

void Client::State::Close() {
  if (!process.here()) return;
  const TimedMutexLock lock(mutex);
  closed = true;
  Current()->Close();
}

// Of all clients that are empty: it answers whatever they are asked.
const std::shared_ptr<Client::State>& Client::NoState() {
  static const auto nothing = std::make_shared<State>(
      client::Connection::Ended(client::Empty("client", "Connect and Node::client give one")),
      std::string(), client::NodeOf::kAnybody);
  return nothing;
}

Client ClientAccess::Make(std::shared_ptr<client::Connection> connection, std::string path,
                          client::NodeOf whose) {
  return Client(std::make_shared<Client::State>(std::move(connection), std::move(path), whose));
}

Result<Client> Client::Connect(const std::string& socket, std::chrono::milliseconds timeout) {
  const std::string path = AbsoluteSocketPath(socket);
  TRY_ASSIGN(auto connection, Attach(path, client::NodeOf::kAnybody, timeout));
  return ClientAccess::Make(std::move(connection), path);
}

Result<Client> ClientAccess::ConnectToOwn(const std::string& socket,
                                          std::chrono::milliseconds timeout) {
  const std::string path = AbsoluteSocketPath(socket);
  constexpr auto kOwn = client::NodeOf::kSelfOrRoot;
  TRY_ASSIGN(auto connection, Attach(path, kOwn, timeout));
  return Make(std::move(connection), path, kOwn);
}

Client::Client() : state_(NoState()) {}
Client::Client(std::shared_ptr<State> state) : state_(std::move(state)) {}
Client::Client(const Client&) = default;
Client& Client::operator=(const Client&) = default;
Client::Client(Client&& other) noexcept : state_(std::exchange(other.state_, NoState())) {}
Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) state_ = std::exchange(other.state_, NoState());
  return *this;
}
Client::~Client() = default;
void Client::Close() { state_->Close(); }

}  // namespace hoplite
