#include "directory/grpc_acceptor.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/exhaustion.h"
#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "net/resolve.h"

namespace hoplite::directory {
namespace {

// Between two attempts when accepting fails, for example because descriptors have run out.
constexpr std::chrono::milliseconds kPause(50);

}  // namespace

Result<std::unique_ptr<GrpcAcceptor>> GrpcAcceptor::Open(const std::string& listen) {
  return OrExhausted("a listening socket", [&]() -> Result<std::unique_ptr<GrpcAcceptor>> {
    std::unique_ptr<GrpcAcceptor> acceptor(new GrpcAcceptor);
    TRY(acceptor->Bind(listen));
    return acceptor;
  });
}

GrpcAcceptor::~GrpcAcceptor() { Stop(); }

Result<void> GrpcAcceptor::Bind(const std::string& listen) {
  TRY_ASSIGN(HostPort address, ParseHostPort(listen));
  TRY_ASSIGN(const net::Endpoints endpoints, net::ResolveNow(address));
  TRY(net::Bind(acceptor_, endpoints.front()));
  acceptor_.non_blocking(true);
  address.port = acceptor_.local_endpoint().port();
  address_ = address.ToString();
  return {};
}

Result<void> GrpcAcceptor::Start(Gate& gate) {
  gate_ = &gate;
  Wait();
  TRY_ASSIGN(thread_, StartThread([this] { loop_.run(); }));
  return {};
}

void GrpcAcceptor::Stop() {
  if (!thread_.joinable()) return;
  loop_.stop();
  thread_.join();
  asio::error_code ignored;
  acceptor_.close(ignored);
}

void GrpcAcceptor::Wait() {
  acceptor_.async_wait(asio::socket_base::wait_read, [this](const asio::error_code& error) {
    if (!error) AcceptWaiting(*gate_);
  });
}

void GrpcAcceptor::AcceptWaiting(Gate& gate) {
  for (;;) {
    const int socket =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) break;
    failing_ = false;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Gate::NewConnectionParameters connection;
    connection.listener_fd = acceptor_.native_handle();
    connection.fd = socket;
    gate.HandleNewConnection(&connection);
  }
  // Anything but these is of one connection, or will pass.
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return Wait();
  if (!failing_) log::Warn("accepting connections at {}: {}", address_, std::strerror(errno));
  failing_ = true;
  Pause();
}

void GrpcAcceptor::Pause() {
  pause_.expires_after(kPause);
  pause_.async_wait([this](const asio::error_code& error) {
    if (!error) AcceptWaiting(*gate_);
  });
}

}  // namespace hoplite::directory
