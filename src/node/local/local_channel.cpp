#include "node/local/local_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <asio/post.hpp>
#include <fmt/format.h>
#include <sys/socket.h>

#include "base/try.h"
#include "base/units.h"
#include "net/tcp_syscalls.h"
#include "node/local/local_convert.h"
#include "wire/passed_descriptors.h"

namespace hoplite::node {
namespace {

constexpr std::size_t kMaxUnsent = 2 * wire::kMaxLocalAnswer;
constexpr std::size_t kMostUntaken = 4;  // descriptors
constexpr int kReadsPerTurn = 8;         // then the other work of the loop comes first
// More than a socket holds: whoever goes on sending has to be cut off.
constexpr int kLastReads = 16;

Error SystemError(const char* what) {
  return {ErrorCode::kUnavailable, fmt::format("local connection: {}: {}", what, strerror(errno))};
}

// An answer to no request: the connection ends.
local::Answer LastWords(const Error& why) {
  local::Answer last;
  FillError(why, *last.mutable_error());
  return last;
}

}  // namespace

Result<std::shared_ptr<LocalChannel>> LocalChannel::Adopt(asio::io_context& loop, int socket) {
  asio::local::stream_protocol::socket adopted(loop);
  asio::error_code error;
  adopted.assign(asio::local::stream_protocol(), socket, error);
  net::CloseOnExec(socket);
  if (!error) adopted.native_non_blocking(true, error);
  if (error) {
    asio::error_code ignored;
    if (adopted.is_open()) adopted.release(ignored);
    return std::unexpected(Error(ErrorCode::kUnavailable, "local connection: " + error.message()));
  }
  return std::make_shared<LocalChannel>(loop, std::move(adopted));
}

void LocalChannel::Refuse(int socket, const Error& why) {
  std::string frame;
  wire::AppendMessageFrame(LastWords(why), frame);
  // A new socket has room.
  (void)::send(socket, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

LocalChannel::LocalChannel(asio::io_context& loop, asio::local::stream_protocol::socket socket)
    : loop_(loop), socket_(std::move(socket)) {}

void LocalChannel::Start(Hooks hooks) {
  hooks_ = std::move(hooks);
  WaitToRead();
}

void LocalChannel::WaitToRead() {
  socket_.async_wait(asio::socket_base::wait_read, [self = shared_from_this()](asio::error_code) {
    for (int i = 0; i < kReadsPerTurn && !self->closed_; ++i) {
      const Result<bool> more = self->ReadSome();
      if (!more) return self->Fail(more.error());
      if (!*more) break;
    }
    if (!self->closed_) self->WaitToRead();
  });
}

Result<bool> LocalChannel::ReadSome() {
  std::array<char, wire::kReadBytes>
      room;  // NOLINT(cppcoreguidelines-pro-type-member-init): for bytes
  iovec piece{.iov_base = room.data(), .iov_len = room.size()};
  msghdr head{};
  head.msg_iov = &piece;
  head.msg_iovlen = 1;
  wire::PassedDescriptors passed;
  passed.MakeRoom(head);
  const ssize_t got = ::recvmsg(socket_.native_handle(), &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    return std::unexpected(SystemError("receive"));
  }
  if (got == 0) return std::unexpected(Error(ErrorCode::kUnavailable, "closed by the client"));
  for (FileDescriptor& came : wire::PassedDescriptors::Take(head)) {
    descriptors_.push_back(std::move(came));
  }
  frames_.Received({room.data(), static_cast<std::size_t>(got)});
  TRY(HandleMessages());
  frames_.Keep();
  if (descriptors_.size() > kMostUntaken) {
    return std::unexpected(Error(ErrorCode::kProtocol, "descriptors that no message is about"));
  }
  return static_cast<std::size_t>(got) == room.size();
}

Result<void> LocalChannel::HandleMessages() {
  while (!closed_) {
    TRY_ASSIGN(const auto message, frames_.Next());
    if (!message) return {};
    local::Request request;
    if (!request.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
      return std::unexpected(Error(ErrorCode::kProtocol, "a message is no Request"));
    }
    hooks_.on_request(std::move(request));
  }
  return {};
}

FileDescriptor LocalChannel::TakeDescriptor() {
  if (descriptors_.empty()) return FileDescriptor();
  FileDescriptor next = std::move(descriptors_.front());
  descriptors_.pop_front();
  return next;
}

void LocalChannel::Send(const local::Answer& answer, int descriptor) {
  if (closed_ || unwritable_) return;
  wire::AppendMessageFrame(answer, unsent_);
  if (descriptor >= 0) {
    std::erase(unsent_descriptors_, descriptor);  // once is enough: its answer is unsent, too
    unsent_descriptors_.push_back(descriptor);
  }
  if (!waiting_to_write_) Flush();
  if (unsent_.size() - sent_ > kMaxUnsent) {
    FailSoon(Error(ErrorCode::kResourceExhausted, "the client does not read its answers"));
  }
}

void LocalChannel::Flush() {
  const Result<bool> all = WriteSome();
  if (!all) return FailSoon(all.error());
  if (!*all) WaitToWrite();
}

void LocalChannel::FailSoon(Error why) {
  unwritable_ = true;
  asio::post(loop_,
             [self = shared_from_this(), why = std::move(why)] { self->FailAfterReading(why); });
}

void LocalChannel::FailAfterReading(Error why) {
  for (int i = 0; i < kLastReads && !closed_; ++i) {
    const Result<bool> more = ReadSome();
    if (!more || !*more) break;
  }
  Fail(std::move(why));
}

void LocalChannel::WaitToWrite() {
  waiting_to_write_ = true;
  socket_.async_wait(asio::socket_base::wait_write, [self = shared_from_this()](asio::error_code) {
    self->waiting_to_write_ = false;
    if (!self->closed_) self->Flush();
  });
}

Result<bool> LocalChannel::WriteSome() {
  wire::PassedDescriptors passed;  // at most two: the read-only and the writable one
  while (sent_ < unsent_.size()) {
    iovec piece{.iov_base = unsent_.data() + sent_, .iov_len = unsent_.size() - sent_};
    msghdr head{};
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    passed.Attach(unsent_descriptors_, head);
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &head, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return false;
    if (sent < 0) return std::unexpected(SystemError("send"));
    unsent_descriptors_.clear();
    sent_ += static_cast<std::size_t>(sent);
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

void LocalChannel::Fail(Error why) {
  if (closed_) return;
  if (why.code == ErrorCode::kProtocol) Send(LastWords(why));
  Close();
  hooks_.on_end(why);
}

void LocalChannel::Close() {
  if (closed_) return;
  closed_ = true;
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace hoplite::node
