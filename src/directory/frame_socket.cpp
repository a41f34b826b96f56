#include "directory/frame_socket.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <asio/post.hpp>
#include <sys/socket.h>

#include "net/tcp_syscalls.h"

namespace hoplite::directory {
namespace {

constexpr int kReadsPerTurn = 8;
// Only a peer that never reads what needs no answer has more unread than a window (R43).
constexpr std::size_t kMaxUnsent = 4_MiB;
// Room of what once waited is not kept for ever.
constexpr std::size_t kUnsentStays = 256_KiB;
// How long a finished socket may take to deliver its last words.
constexpr std::chrono::seconds kLastWordsTime(1);

std::string PeerOf(const net::TcpSocket& socket) {
  asio::error_code ec;
  const auto endpoint = socket.remote_endpoint(ec);
  return ec ? "a peer that has gone" : net::ToString(endpoint);
}

std::unique_ptr<net::TlsSocket> TlsOf(net::TcpSocket& socket, net::Security* security,
                                      FrameSocket::Side side) {
  if (security == nullptr) return nullptr;
  return side == FrameSocket::Side::kAccepts
             ? security->Accept(socket.native_handle())
             : security->Connect(socket.native_handle(), net::TlsRole::kDirectory);
}

}  // namespace

FrameSocket::FrameSocket(asio::io_context& loop, net::TcpSocket socket, std::size_t max_frame_bytes,
                         net::Security* security, Side side)
    : loop_(loop),
      socket_(std::move(socket)),
      tls_(TlsOf(socket_, security, side)),
      peer_(PeerOf(socket_)),
      frames_(max_frame_bytes),
      last_words_(loop),
      certificate_(loop) {
  asio::error_code ignored;
  socket_.native_non_blocking(true, ignored);
  net::TuneSocket(socket_.native_handle());
}

void FrameSocket::Start(Hooks hooks) {
  SetHooks(std::move(hooks));
  if (tls_) return ReadSoon();  // who connects begins the handshake
  WaitToRead();
}

void FrameSocket::SetHooks(Hooks hooks) {
  if (!closed_) hooks_ = std::make_shared<const Hooks>(std::move(hooks));
}

void FrameSocket::Send(const google::protobuf::MessageLite& message) {
  if (closed_ || finishing_ || failed_) return;
  wire::AppendMessageFrame(message, unsent_);
  if (!writes_) Flush();
  if (unsent() > kMaxUnsent) Fail("it takes nothing of what it is sent");
}

void FrameSocket::DropWaiting() {
  while (begun_ < sent_) begun_ = NextFrame();
  unsent_.resize(begun_);
}

void FrameSocket::Resume() {
  if (std::exchange(paused_, false)) ReadSoon();
}

void FrameSocket::Finish() {
  if (closed_ || std::exchange(finishing_, true)) return;
  ReadSoon();
  last_words_.expires_after(kLastWordsTime);
  last_words_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->End("it does not close its end");
  });
  if (!writes_ && !failed_) Flush();
}

void FrameSocket::Close() {
  if (std::exchange(closed_, true)) return;
  asio::error_code ignored;
  if (tls_) tls_->SayGoodbye();
  socket_.close(ignored);
  last_words_.cancel();
  certificate_.cancel();
  hooks_.reset();
  if (const auto closed = std::exchange(on_closed_, nullptr)) closed();
}

// False: nothing can be read yet, or any more.
bool FrameSocket::Shake() {
  const Result<bool> done = tls_->Shake();
  if (done && *done) {
    EndWithCertificate();
    if (!writes_) Flush();
    return true;
  }
  if (done) {
    WaitToRead();
    return false;
  }
  deaf_ = refused_ = true;
  tls_.reset();  // its memory would stay while the peer reads the alert
  const auto hooks = hooks_;
  hooks->on_noise(done.error());
  return false;
}

void FrameSocket::EndWithCertificate() {
  const auto left = tls_->peer_expires_in();
  if (!left) return;
  certificate_.expires_after(*left);
  certificate_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->End("the peer's certificate has expired");
  });
}

// What a refused peer still says is read and forgotten, so that it gets to read why.
ssize_t FrameSocket::Receive(std::span<char> room) {
  if (tls_) return tls_->Receive(std::as_writable_bytes(room));
  return ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
}

ssize_t FrameSocket::SendSome(std::string_view bytes) {
  if (tls_) return tls_->Send(std::as_bytes(std::span(bytes)), {}, 0, bytes.size());
  return ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void FrameSocket::WaitToRead() {
  if (closed_ || std::exchange(reads_, true)) return;
  socket_.async_wait(asio::socket_base::wait_read,
                     [self = shared_from_this()](const asio::error_code&) { self->Read(); });
}

void FrameSocket::ReadSoon() {
  if (closed_ || std::exchange(reads_, true)) return;
  asio::post(loop_, [self = shared_from_this()] { self->Read(); });
}

void FrameSocket::Read() {
  const auto self = shared_from_this();
  reads_ = false;
  if (closed_ || (tls_ && !tls_->established() && !Shake())) return;
  std::array<char, wire::kReadBytes>
      room;                  // NOLINT(cppcoreguidelines-pro-type-member-init): for bytes
  bool more = TakeFrames();  // those that were kept while it was paused
  for (int reads = 0; more && reads < kReadsPerTurn; ++reads) {
    const ssize_t got = Receive(room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) return End(got == 0 ? "it closed the connection" : Reason(errno));
    const auto bytes = static_cast<std::size_t>(got);
    if (!finishing_) {
      frames_.Received({room.data(), bytes});
      more = TakeFrames();
      frames_.Keep();
    }
    if (bytes < room.size()) break;
  }
  if (!finishing_ && (paused_ || deaf_)) return;
  if (!closed_ && tls_ && tls_->unread()) return ReadSoon();
  WaitToRead();
}

// False: nothing more is to be read.
bool FrameSocket::TakeFrames() {
  while (!closed_ && !finishing_ && !paused_ && !deaf_) {
    const auto frame = frames_.Next();
    if (frame && !*frame) return true;
    const auto hooks = hooks_;
    if (frame) {
      hooks->on_frame(**frame);
    } else {
      deaf_ = true;
      hooks->on_noise(frame.error());
    }
  }
  return !closed_ && finishing_;
}

void FrameSocket::Flush() {
  if (tls_ && !tls_->established()) return;
  if (refused_) unsent_.clear();
  while (sent_ < unsent_.size() || (tls_ && !tls_->Flush())) {
    const ssize_t sent =
        sent_ < unsent_.size() ? SendSome(std::string_view(unsent_).substr(sent_)) : -1;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      Compact();
      return WaitToWrite();
    }
    if (sent < 0) return Fail(Reason(errno));
    sent_ += static_cast<std::size_t>(sent);
  }
  unsent_.clear();
  sent_ = begun_ = 0;
  if (unsent_.capacity() > kUnsentStays) unsent_ = {};
  if (!finishing_) return;
  if (tls_) tls_->SayGoodbye();
  ::shutdown(socket_.native_handle(), SHUT_WR);
}

void FrameSocket::WaitToWrite() {
  if (std::exchange(writes_, true)) return;
  socket_.async_wait(asio::socket_base::wait_write,
                     [self = shared_from_this()](const asio::error_code&) {
                       self->writes_ = false;
                       if (self->closed_ || self->failed_) return;
                       self->Flush();
                       const auto hooks = self->hooks_;
                       if (self->unsent() == 0 && hooks && hooks->on_room) hooks->on_room();
                     });
}

// Where the frame after the one at begun_ begins.
std::size_t FrameSocket::NextFrame() const {
  return begun_ + wire::kLengthBytes + wire::LengthOf(std::string_view(unsent_).substr(begun_));
}

// Lets go of the frames that have left wholly, once they are most of what is kept.
void FrameSocket::Compact() {
  while (begun_ < sent_) {
    const std::size_t next = NextFrame();
    if (next > sent_) break;
    begun_ = next;
  }
  if (begun_ < wire::kReadBytes || begun_ < unsent_.size() / 2) return;
  unsent_.erase(0, begun_);
  sent_ -= begun_;
  begun_ = 0;
}

// Ends the connection soon: who sends is in the middle of something.
void FrameSocket::Fail(std::string why) {
  if (closed_ || std::exchange(failed_, true)) return;
  asio::post(loop_, [self = shared_from_this(), why = std::move(why)] { self->End(why); });
}

std::string FrameSocket::Reason(int error) const {
  return tls_ && error == EPROTO ? tls_->why() : std::strerror(error);
}

void FrameSocket::End(const std::string& why) {
  if (closed_) return;
  const auto hooks = hooks_;
  Close();
  if (hooks) hooks->on_end({ErrorCode::kUnavailable, why});
}

}  // namespace hoplite::directory
