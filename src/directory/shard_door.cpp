#include "directory/shard_door.h"

#include <chrono>
#include <utility>
#include <vector>

#include <asio/post.hpp>

#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "directory/session_messages.h"
#include "directory/shard_questions.h"
#include "directory/tcp_session.h"
#include "net/resolve.h"
#include "net/tcp_syscalls.h"

namespace hoplite::directory {
namespace {

// Between two attempts when accepting fails, for example because descriptors have run out.
constexpr std::chrono::milliseconds kAcceptPause(50);
// So many come in before the loop does other work.
constexpr int kAtOnce = 64;
// A Hello has some hundred bytes; nobody who is not known yet may say much more.
constexpr std::size_t kMaxFirstFrame = 64_KiB;
constexpr std::size_t kMostNewcomers = 1024;

}  // namespace

// Lives as long as its socket's hooks.
class ShardDoor::Newcomer : public std::enable_shared_from_this<Newcomer> {
 public:
  Newcomer(std::shared_ptr<ShardDoor> door, std::shared_ptr<FrameSocket> socket)
      : door_(std::move(door)),
        socket_(std::move(socket)),
        number_(++door_->came_),
        patience_(door_->loop_) {}

  void Start() {
    const auto self = shared_from_this();
    door_->newcomers_.emplace(number_, self);
    patience_.expires_after(door_->lease_);
    patience_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto late = weak.lock();
      if (late && !error) late->SendAway("no Hello came in time");
    });
    socket_->Start({.on_frame = [self](std::string_view frame) { self->Hear(frame); },
                    .on_noise = [self](const Error& why) { self->OnNoise(why); },
                    .on_end = [self](const Error&) { self->WaitNoMore(); },
                    .on_room = nullptr});
  }
  // Others need the place.
  void MakeRoom() {
    door_->strangers_.Log(socket_->peer(), "others came before it said what for");
    WaitNoMore();
    socket_->Close();
  }

 private:
  void WaitNoMore() {
    patience_.cancel();
    door_->newcomers_.erase(number_);
  }
  void Hear(std::string_view frame) {
    const Result<v1::NodeMessage*> message = reader_.Read(frame);
    if (!message) return SendAway(message.error().message);
    if (*message == nullptr) return;
    v1::NodeMessage& first = **message;
    const bool asks = first.has_status() || first.has_info() || first.has_trace();
    if (!asks && !first.has_hello()) return SendAway("a session must begin with Hello");
    WaitNoMore();
    if (asks) return ShardQuestions::Start(door_->loop_, door_->service_, socket_, first);
    if (const auto why = door_->service_->StandsBy()) {
      return SendLast(*socket_, {.error = *why, .members = door_->service_->members()});
    }
    TcpSession::Start(door_->service_, socket_, first);
  }
  // Words for who does not speak the protocol would be noise to him.
  void OnNoise(const Error& why) {
    const auto foreign = ForeignProtocol(socket_->begun());
    if (!foreign) return SendAway(why.message);
    door_->strangers_.Log(socket_->peer(), WhyNoFrame(socket_->begun(), why.message));
    WaitNoMore();
    socket_->Close();
  }
  void SendAway(const std::string& why) {
    door_->strangers_.Log(socket_->peer(), why);
    WaitNoMore();
    SendLast(*socket_, {.error = {ErrorCode::kProtocol, why}});
  }

  const std::shared_ptr<ShardDoor> door_;
  const std::shared_ptr<FrameSocket> socket_;
  const std::uint64_t number_;
  MessageReader<v1::NodeMessage> reader_{kMaxFirstFrame};
  net::Timer patience_;
};

Result<std::shared_ptr<ShardDoor>> ShardDoor::Open(asio::io_context& loop,
                                                   const std::string& listen,
                                                   net::SecurityPtr security) {
  std::shared_ptr<ShardDoor> door(new ShardDoor(loop, std::move(security)));
  TRY(door->Bind(listen));
  return door;
}

ShardDoor::ShardDoor(asio::io_context& loop, net::SecurityPtr security)
    : loop_(loop), security_(std::move(security)), acceptor_(loop), pause_(loop) {}

Result<void> ShardDoor::Bind(const std::string& listen) {
  TRY_ASSIGN(HostPort address, ParseHostPort(listen));
  TRY_ASSIGN(const net::Endpoints endpoints, net::ResolveNow(address));
  TRY(net::Bind(acceptor_, endpoints.front()));
  acceptor_.non_blocking(true);
  address.port = acceptor_.local_endpoint().port();
  address_ = address.ToString();
  return {};
}

void ShardDoor::Start(std::shared_ptr<DirectoryService> service, Duration lease) {
  service_ = std::move(service);
  lease_ = lease;
  Wait();
}

void ShardDoor::Stop(std::function<void()> done) {
  asio::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  Close([](const FrameSocket& socket) { return !socket.finishing(); });
  if (open_.empty()) return done();
  when_empty_ = std::move(done);
}

void ShardDoor::CloseAll() {
  when_empty_ = nullptr;
  Close([](const FrameSocket&) { return true; });
}

void ShardDoor::Close(const std::function<bool(const FrameSocket&)>& which) {
  std::vector<std::shared_ptr<FrameSocket>> closing;
  for (FrameSocket* socket : open_) {
    if (which(*socket)) closing.push_back(socket->shared_from_this());
  }
  for (const auto& socket : closing) socket->Close();
}

void ShardDoor::Wait() {
  acceptor_.async_wait(asio::socket_base::wait_read,
                       [self = shared_from_this()](const asio::error_code& error) {
                         if (!error) self->AcceptWaiting();
                       });
}

void ShardDoor::AcceptWaiting() {
  for (int accepted = 0; accepted < kAtOnce; ++accepted) {
    asio::error_code error;
    net::TcpSocket socket(loop_);
    acceptor_.accept(socket, error);
    if (!acceptor_.is_open()) return;
    // Anything but these will pass, or is of one connection.
    if (error == asio::error::would_block || error == asio::error::connection_aborted) break;
    if (error) {
      if (!std::exchange(failing_, true)) {
        log::Warn("accepting connections at {}: {}", address_, error.message());
      }
      return Pause();
    }
    failing_ = false;
    Admit(std::move(socket));
  }
  Wait();
}

void ShardDoor::Pause() {
  pause_.expires_after(kAcceptPause);
  pause_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->AcceptWaiting();
  });
}

void ShardDoor::Admit(net::TcpSocket socket) {
  const auto connection = std::make_shared<FrameSocket>(
      loop_, std::move(socket), kMaxFirstFrame, security_.get(), FrameSocket::Side::kAccepts);
  open_.insert(connection.get());
  connection->OnClosed([weak = weak_from_this(), open = connection.get()] {
    if (const auto self = weak.lock()) self->Left(open);
  });
  std::make_shared<Newcomer>(shared_from_this(), connection)->Start();
  if (newcomers_.size() <= kMostNewcomers) return;
  const auto oldest = newcomers_.begin()->second.lock();
  newcomers_.erase(newcomers_.begin());
  if (oldest) oldest->MakeRoom();
}

void ShardDoor::Left(FrameSocket* socket) {
  open_.erase(socket);
  if (open_.empty() && when_empty_) std::exchange(when_empty_, nullptr)();
}

}  // namespace hoplite::directory
