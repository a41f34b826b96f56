#include "directory/dial.h"

#include <chrono>
#include <exception>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "directory/away.h"
#include "net/tcp_syscalls.h"

namespace hoplite::directory {
namespace {

constexpr std::chrono::seconds kLookUp(5);

}  // namespace

std::shared_ptr<Dial> Dial::Start(asio::io_context& loop, const std::string& address, Done done,
                                  std::function<void()> next) {
  std::shared_ptr<Dial> dial(new Dial(loop, std::move(done), std::move(next)));
  dial->Resolve(address);
  return dial;
}

std::shared_ptr<Dial> Dial::Start(asio::io_context& loop, net::Endpoints endpoints, Done done) {
  std::shared_ptr<Dial> dial(new Dial(loop, std::move(done), nullptr));
  dial->endpoints_ = std::move(endpoints);
  asio::post(loop, [dial] { dial->Try(0); });
  return dial;
}

// What both functions hold may hold this.
void Dial::Cancel() {
  done_ = nullptr;
  next_ = nullptr;
  socket_.reset();
  silence_.cancel();
}

void Dial::Resolve(const std::string& address) {
  Result<HostPort> target = ParseHostPort(address);
  if (!target) return FailSoon(std::move(target).error());
  asio::co_spawn(loop_, net::Resolve(*std::move(target), Now() + kLookUp),
                 [self = shared_from_this(), address](const std::exception_ptr& thrown,
                                                      Result<net::Endpoints> found) {
                   if (thrown) {
                     return self->End(std::unexpected(
                         Error(ErrorCode::kUnavailable, address + " can't be looked up")));
                   }
                   if (!found) return self->End(std::unexpected(std::move(found).error()));
                   self->endpoints_ = *std::move(found);
                   self->Try(0);
                 });
}

void Dial::Try(std::size_t which) {
  if (!done_) return;
  if (which == endpoints_.size()) {
    return End(std::unexpected(Error(ErrorCode::kUnavailable, "its name has no address")));
  }
  const auto endpoint = endpoints_[which];
  const bool last = which + 1 == endpoints_.size();
  const auto tried = [self = shared_from_this(), endpoint, which,
                      last](const asio::error_code& error) {
    if (!self->done_ || which != self->tried_) return;
    if (!error) return self->End(*std::exchange(self->socket_, std::nullopt));
    if (!last) return self->Try(which + 1);
    self->End(std::unexpected(
        Error(ErrorCode::kUnavailable, CannotConnect(net::ToString(endpoint), error.message()))));
  };
  if (const auto next = next_; which > 0 && next) next();
  if (!done_) return;
  tried_ = which;
  if (!last) {
    silence_.expires_at(net::Share(Now(), kNever, endpoints_.size() - which));
    silence_.async_wait([tried](const asio::error_code& error) {
      if (!error) tried(asio::error::timed_out);
    });
  }
  asio::error_code error;
  socket_.emplace(loop_);
  socket_->open(endpoint.protocol(), error);
  if (error) return asio::post(loop_, [tried, error] { tried(error); });
  net::CloseOnExec(socket_->native_handle());
  socket_->async_connect(endpoint, tried);
}

void Dial::End(Result<net::TcpSocket> outcome) {
  socket_.reset();
  silence_.cancel();
  next_ = nullptr;
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(outcome));
}

void Dial::FailSoon(Error why) {
  asio::post(loop_, [self = shared_from_this(), why = std::move(why)]() mutable {
    self->End(std::unexpected(std::move(why)));
  });
}

}  // namespace hoplite::directory
