#include "testing/raw_peer.h"

#include <utility>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"

namespace hoplite::testing {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool Readable(int socket, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd wait{socket, POLLIN, 0};
  return left > 0 && ::poll(&wait, 1, static_cast<int>(left)) > 0;
}

}  // namespace

RawPeer RawPeer::Connect(const std::string& address) {
  const auto target = ParseHostPort(address);
  HOPLITE_CHECK(target.has_value(), "an address of a node");
  const sockaddr_in to = Loopback(target->port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  HOPLITE_CHECK(connected == 0, "a node that listens");
  return RawPeer(socket);
}

RawPeer::~RawPeer() {
  if (socket_ >= 0) ::close(socket_);
}

RawPeer::RawPeer(RawPeer&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

// It is no error if the other side has closed.
void RawPeer::Send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

std::optional<std::vector<std::byte>> RawPeer::Receive(std::size_t bytes,
                                                       std::chrono::milliseconds bound) {
  const auto deadline = Clock::now() + bound;
  std::vector<std::byte> received(bytes);
  std::size_t done = 0;
  while (done < bytes) {
    if (!Readable(socket_, deadline)) return std::nullopt;
    const ssize_t got = ::recv(socket_, received.data() + done, bytes - done, 0);
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return received;
}

std::optional<wire::Frame> RawPeer::Next(std::chrono::milliseconds bound) {
  const auto head = Receive(wire::kHeaderBytes, bound);
  if (!head) return std::nullopt;
  const auto header = wire::DecodeHeader(std::span(*head).first<wire::kHeaderBytes>());
  HOPLITE_CHECK(header.has_value(), "a node sends proper frames");
  const auto body = Receive(header->body_bytes, bound);
  if (!body) return std::nullopt;
  auto frame = wire::DecodeBody(*header, *body);
  HOPLITE_CHECK(frame.has_value(), "a node sends proper frames");
  return *std::move(frame);
}

bool RawPeer::Closed(std::chrono::milliseconds bound) {
  const auto deadline = Clock::now() + bound;
  std::vector<std::byte> ignored(65536);
  while (Readable(socket_, deadline)) {
    if (::recv(socket_, ignored.data(), ignored.size(), 0) <= 0) return true;
  }
  return false;
}

RawListener::RawListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool listening = ::bind(socket_, any, size) == 0 && ::listen(socket_, 8) == 0 &&
                         ::getsockname(socket_, any, &size) == 0;
  HOPLITE_CHECK(listening, "a port on the loopback");
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

RawListener::~RawListener() { ::close(socket_); }

RawPeer RawListener::Accept() {
  HOPLITE_CHECK(Readable(socket_, Clock::now() + RawPeer::kBound), "somebody connects");
  return RawPeer(::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC));
}

}  // namespace hoplite::testing
