#include "client/connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/exhaustion.h"
#include "base/try.h"

namespace hoplite::client {
namespace {

// A node answers soon after a deadline, with the reason. One that doesn't is not waited for longer.
constexpr std::chrono::milliseconds kPatience{1000};
// A node that takes nothing from its socket for so long is hung.
constexpr int kSendPatienceMs = 5000;

Error Lost(const std::string& why) {
  return {ErrorCode::kUnavailable, "the connection to the node has ended: " + why};
}

Time Later(Time deadline) { return deadline == kNever ? kNever : deadline + kPatience; }

std::uint64_t MicrosecondsUntil(Time deadline) {
  if (deadline == kNever) return 0;
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 1));
}

}  // namespace

Connection::Connection(int socket, SegmentMap in_process)
    : socket_(socket),
      in_process_(in_process.mapped()),
      process_(::getpid()),
      readable_(std::move(in_process)) {}

Result<std::shared_ptr<Connection>> Connection::Attach(int socket, SegmentMap in_process,
                                                       Time deadline) {
  const bool here = in_process.mapped();
  std::shared_ptr<Connection> made(new Connection(socket, std::move(in_process)));
  TRY_ASSIGN(made->reader_, StartThread([connection = made.get()] { connection->Read(); }));
  TRY(made->Greet(here, deadline));
  return made;
}

std::shared_ptr<Connection> Connection::Ended(Error why) {
  std::shared_ptr<Connection> made(new Connection(-1, SegmentMap()));
  made->ended_ = std::move(why);
  return made;
}

Result<void> Connection::Greet(bool in_process, Time deadline) {
  local::Request request;
  request.mutable_hello()->set_protocol_version(wire::kLocalProtocolVersion);
  request.mutable_hello()->set_in_process(in_process);
  TRY_ASSIGN(const local::Answer answer, Call(std::move(request), deadline));
  if (answer.has_attached() && readable_.mapped()) {
    node_ = answer.attached().node();
    return {};
  }
  return std::unexpected(
      Error(ErrorCode::kProtocol, "the node answered Hello with something else"));
}

Connection::~Connection() {
  if (socket_ < 0) return;
  if (process_ != ::getpid()) {
    reader_.detach();  // no such thread in a forked child
  } else {
    ::shutdown(socket_, SHUT_RDWR);
    if (reader_.joinable()) reader_.join();  // else none could be made
  }
  ::close(socket_);
}

PendingPtr Connection::Begin(local::Request request, Time deadline) {
  if (request.id() == 0) request.set_id(NextId());
  request.set_timeout_us(MicrosecondsUntil(deadline));
  auto pending = std::make_shared<Pending>(request.id());
  {
    const std::lock_guard lock(mutex_);
    if (ended_) {
      pending->Settle(std::unexpected(*ended_));
      return pending;
    }
    pending_.emplace(request.id(), pending);
  }
  if (const Result<void> sent = Send(request); !sent)
    pending->Settle(std::unexpected(sent.error()));
  return pending;
}

Result<local::Answer> Connection::Call(local::Request request, Time deadline) {
  return Finish(Begin(std::move(request), deadline), deadline);
}

const Result<local::Answer>& Connection::Finish(const PendingPtr& pending, Time deadline) {
  if (!WaitFor(*pending, Later(deadline))) {
    GiveUp(*pending, Error(ErrorCode::kTimeout, "the node did not answer in time"));
  }
  return pending->outcome();
}

void Connection::GiveUp(Pending& pending, Error why) {
  if (!pending.Settle(std::unexpected(std::move(why)))) return;
  local::Request request;
  request.mutable_cancel()->set_request(pending.id());
  Tell(request);
}

void Connection::Drop(const PendingPtr& pending) {
  GiveUp(*pending, Error(ErrorCode::kCancelled, "nobody waits for the answer"));
  if (pending->outcome()) Release(pending->id());
}

void Connection::Tell(const local::Request& request) {
  // If it can't be sent the connection has ended, and with it what this request is about.
  (void)Send(request);
}

void Connection::Release(std::uint64_t made_by) {
  local::Request request;
  request.mutable_release()->set_made_by(made_by);
  Tell(request);
}

Result<void> Connection::Send(const local::Request& request) {
  if (process_ != ::getpid()) {
    return std::unexpected(Lost("it belongs to the process that this one was forked from"));
  }
  if (request.ByteSizeLong() > wire::kMaxLocalRequest) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, "the request is too large: metadata has at most 4 KiB"));
  }
  const std::lock_guard lock(send_mutex_);
  frame_.clear();
  wire::AppendLocalFrame(request, frame_);
  return SendFrame();
}

Result<void> Connection::SendFrame() {
  std::size_t sent = 0;
  while (sent < frame_.size()) {
    const ssize_t n =
        ::send(socket_, frame_.data() + sent, frame_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    pollfd room{.fd = socket_, .events = POLLOUT, .revents = 0};
    if (errno == EAGAIN && ::poll(&room, 1, kSendPatienceMs) > 0) continue;
    // Half a message can't be taken back.
    ::shutdown(socket_, SHUT_RDWR);
    return std::unexpected(Lost("it takes no more requests"));
  }
  return {};
}

void Connection::AddSink(std::uint64_t id, std::weak_ptr<NewsSink> sink) {
  const std::lock_guard lock(mutex_);
  sinks_.emplace(id, std::move(sink));
}

void Connection::RemoveSink(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  sinks_.erase(id);
}

void Connection::Close() {
  const Error why(ErrorCode::kCancelled, "the client was closed");
  std::vector<PendingPtr> waiting;
  std::vector<std::shared_ptr<NewsSink>> sinks;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = why;
    for (const auto& [id, pending] : pending_) waiting.push_back(pending);
    for (const auto& [id, sink] : sinks_) sinks.push_back(sink.lock());
  }
  for (const auto& pending : waiting) GiveUp(*pending, why);
  for (const auto& sink : sinks) {
    if (sink) sink->OnEnd(why);
  }
}

}  // namespace hoplite::client
