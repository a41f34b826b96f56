#include "metrics/http_port.h"

#include <chrono>
#include <optional>
#include <span>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "base/clock.h"
#include "base/try.h"
#include "net/deadline.h"

namespace hoplite::metrics {
namespace {

constexpr std::chrono::seconds kAsksWithin(5);
constexpr std::chrono::seconds kTakesWithin(10);

}  // namespace

void HttpPort::Exchange::Start() {
  asio::co_spawn(port_.loop_, Serve(shared_from_this()), asio::detached);
}

void HttpPort::Exchange::Close() {
  if (std::exchange(closed_, true)) return;
  stream_->Close();
  woken_.Notify();
  port_.open_.remove(shared_from_this());
}

net::Task<void> HttpPort::Exchange::Serve(ExchangePtr self) {
  if (co_await self->Hear()) co_await self->port_.serve_(self);
  self->Close();
}

// False: the client has gone, or was too slow.
net::Task<bool> HttpPort::Exchange::Hear() {
  const net::Deadline patience(port_.loop_, Now() + kAsksWithin, Closer());
  std::string head;
  for (;;) {
    const std::size_t begun = head.size();
    head.resize(kMaxHeadBytes);
    const std::span<std::byte> room = std::as_writable_bytes(std::span(head)).subspan(begun);
    const auto some = co_await stream_->ReceiveSome(room);
    if (!some) co_return false;
    head.resize(begun + *some);
    std::optional<Result<Request>> request = ReadRequest(head);
    if (!request) continue;
    request_ = *std::move(request);
    co_return true;
  }
}

net::Task<bool> HttpPort::Exchange::Send(std::shared_ptr<const std::string> bytes) {
  const net::Deadline patience(port_.loop_, Now() + kTakesWithin, Closer());
  const net::Payload nothing_more;
  const auto sent = co_await stream_->Send(std::as_bytes(std::span(*bytes)), nothing_more);
  co_return sent.has_value();
}

net::Task<void> HttpPort::Exchange::Wait(Time deadline) {
  if (open()) co_await woken_.Wait(deadline);
}

Result<std::unique_ptr<HttpPort>> HttpPort::Open(asio::io_context& loop, const std::string& listen,
                                                 Serve serve, net::SecurityPtr security) {
  std::unique_ptr<HttpPort> port(new HttpPort(loop, std::move(serve), std::move(security)));
  TRY_ASSIGN(port->listener_, port->transport_.Listen(listen, [port = port.get()](auto stream) {
    port->Admit(std::move(stream));
  }));
  return port;
}

void HttpPort::Close() {
  listener_->Stop();
  while (!open_.empty()) ExchangePtr(open_.front())->Close();
}

void HttpPort::Admit(net::StreamPtr stream) {
  if (open_.size() >= kMaxConnections) ExchangePtr(open_.front())->Close();
  open_.push_back(std::make_shared<Exchange>(*this, std::move(stream)));
  open_.back()->Start();
}

}  // namespace hoplite::metrics
