#include "client/connection.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exhaustion.h"
#include "base/try.h"
#include "client/interruption.h"
#include "client/no_descriptor.h"
#include "client/patience.h"

namespace hoplite::client {
namespace {

// A node in this process is never stopped alone: if it is late, the machine is busy.
constexpr std::chrono::milliseconds kPatienceInProcess{1000};

Error Lost(const std::string& why) {
  return {ErrorCode::kUnavailable, "the connection to the node has ended: " + why};
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};
std::optional<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{.read = FileDescriptor(ends[0]), .write = FileDescriptor(ends[1])};
}

std::uint64_t MicrosecondsUntil(Time deadline) {
  if (deadline == kNever) return 0;
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - Now());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 1));
}

// How many things an answer to it may make.
std::uint32_t MadeBy(const local::Request& request) {
  if (!request.has_get_many()) return 1;
  return static_cast<std::uint32_t>(request.get_many().objects().size() / ObjectId::kBytes);
}

}  // namespace

Connection::Connection(int socket, int wake, SegmentMap in_process)
    : socket_(socket),
      in_process_(in_process.mapped()),
      inherited_(std::unexpected(Inherited())),
      wake_(wake),
      readable_(std::move(in_process)),
      outgoing_(socket) {}

Result<std::shared_ptr<Connection>> Connection::Attach(int socket, SegmentMap in_process,
                                                       Time deadline) {
  const bool here = in_process.mapped();
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    ::close(socket);
    return std::unexpected(NoDescriptorLeft());
  }
  std::shared_ptr<Connection> made = Make(socket, wake, std::move(in_process));
  TRY_ASSIGN(made->reader_, StartThread([connection = made.get()] { RunReader(connection); }));
  TRY(made->Greet(here, deadline));
  TRY(Forks::Add(*made));
  return made;
}

std::shared_ptr<Connection> Connection::Ended(Error why) {
  const std::shared_ptr<Connection> made = Make(-1, -1, SegmentMap());
  const MutexLock lock(made->mutex_);
  made->ended_ = std::move(why);
  return made;
}

Result<void> Connection::Greet(bool in_process, Time deadline) {
  std::optional<Pipe> pipe = MakePipe();
  if (!pipe) return std::unexpected(NoDescriptorLeft());
  pipe_ = std::move(pipe->write);
  local::Request request;
  request.mutable_hello()->set_protocol_version(wire::kLocalProtocolVersion);
  request.mutable_hello()->set_in_process(in_process);
  request.mutable_hello()->set_pipe(true);
  TRY_ASSIGN(const local::Answer answer,
             Finish(Begin(std::move(request), deadline, std::move(pipe->read)), deadline));
  if (answer.has_attached() && readable_.mapped()) {
    node_ = answer.attached().node();
    shards_ = answer.attached().shards();
    directory_.assign(answer.attached().directory().begin(), answer.attached().directory().end());
    return {};
  }
  return std::unexpected(
      Error(ErrorCode::kProtocol, "the node answered Hello with something else"));
}

std::shared_ptr<Connection> Connection::Make(int socket, int wake, SegmentMap in_process) {
  return {new Connection(socket, wake, std::move(in_process)), &Connection::Destroy};
}

void Connection::Destroy(Connection* connection) {
  if (!connection->on_reader() || connection->inherited()) {
    delete connection;
    return;
  }
  connection->orphaned_ = true;
  connection->stopping_ = true;
}

void Connection::RunReader(Connection* connection) {
  connection->Read();
  if (!connection->orphaned_) return;
  connection->reader_.detach();
  delete connection;
}

Connection::~Connection() {
  if (wake_ < 0) return;
  if (inherited()) {
    reader_.detach();  // no such thread in a forked child
  } else {
    Forks::Remove(*this);
    stopping_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    ::eventfd_write(wake_, 1);
    if (reader_.joinable()) reader_.join();  // else none could be made, or this is it
  }
  if (socket_ >= 0) ::close(socket_);
  ::close(wake_);
}

// Until the node hears of it, it keeps what the child may read for the sake of the old pipe.
void Connection::AfterFork() {
  std::optional<Pipe> pipe = MakePipe();
  local::Request request;
  request.mutable_forked()->set_pipe(pipe.has_value());
  FileDescriptor nodes = pipe ? std::move(pipe->read) : FileDescriptor();
  const Result<void> sent = OnSent(outgoing_.LetGo(request, std::move(nodes)));
  if (sent && pipe) pipe_ = std::move(pipe->write);
}

// The end of this process's socket is to be the end of the parent.
void Connection::InChild() {
  ::close(std::exchange(socket_, -1));
  readable_.ReappearInChild();
}

PendingPtr Connection::Begin(local::Request request, Time deadline, FileDescriptor descriptor) {
  if (request.id() == 0) request.set_id(NextId());
  request.set_timeout_us(MicrosecondsUntil(deadline));
  PendingPtr pending = UntilEnd(request.id(), MadeBy(request));
  if (pending->settled()) return pending;
  // If the connection broke, its reader says so, after the node's last words.
  if (const Result<void> sent = Send(request, std::move(descriptor)); !sent && !lost())
    pending->Settle(std::unexpected(sent.error()));
  return pending;
}

PendingPtr Connection::UntilEnd(std::uint64_t id, std::uint32_t count) {
  auto pending = std::make_shared<Pending>(id, count);
  if (inherited()) {
    pending->Settle(std::unexpected(Inherited()));
    return pending;
  }
  const MutexLock lock(mutex_);
  if (ended_) {
    pending->Settle(std::unexpected(*ended_));
  } else {
    pending_.emplace(id, pending);
  }
  return pending;
}

Result<local::Answer> Connection::Call(local::Request request, Time deadline) {
  return Finish(Begin(std::move(request), deadline), deadline);
}

const Result<local::Answer>& Connection::Finish(const PendingPtr& pending, Time deadline) {
  if (inherited()) return inherited_;
  Pending* const only = pending.get();
  if (const Result<void> came = FinishAny({&only, 1}, deadline); !came) {
    GiveUp(*pending, came.error());
  }
  HoldBack(*pending, deadline);
  return pending->outcome();
}

// A node gives the reason of a timeout a little early. A call takes the time that it was given.
void Connection::HoldBack(const Pending& settled, Time deadline) {
  const Result<local::Answer>& outcome = settled.outcome();
  const bool early = !outcome && outcome.error().code == ErrorCode::kTimeout;
  if (!early || deadline - Now() > wire::kMostEarly) return;  // an object's own error, perhaps
  Pending nothing(0);
  WaitFor(nothing, deadline);
}

Result<void> Connection::FinishAny(std::span<Pending* const> pendings, Time deadline) const {
  if (on_reader()) {
    if (WaitForAny(pendings, Now())) return {};
    return std::unexpected(Error(ErrorCode::kInvalidArgument,
                                 "what OnReady calls can't wait for an answer to its own client"));
  }
  bool patient = true;
  for (Time last = LastMoment(deadline); !WaitForAny(pendings, last);) {
    if (Interruption::Wanted()) return std::unexpected(Interruption::Reason());
    const Time now = Now();
    const Time slept_until = std::exchange(last, LastMoment(deadline));
    if (now < last) continue;
    if (!std::exchange(patient, false)) {
      return std::unexpected(Error(ErrorCode::kTimeout, "the node did not answer in time"));
    }
    last = OnceMore(slept_until, now);
  }
  return {};
}

bool Connection::WaitForAnswer(Pending& pending, Time deadline) const {
  Pending* const only = &pending;
  return FinishAny({&only, 1}, deadline).has_value();
}

Time Connection::LastMoment(Time deadline) const {
  if (in_process_ && deadline != kNever) return deadline + kPatienceInProcess;
  return client::LastMoment(deadline, heard_);
}

bool Connection::Settle(Pending& pending, Result<local::Answer> outcome) {
  if (!pending.Settle(std::move(outcome))) return false;
  if (!ready_calls_.OnSettled(pending)) return true;
  if (socket_ < 0) {
    ready_calls_.Call();
  } else {
    ::eventfd_write(wake_, 1);
  }
  return true;
}

void Connection::OnReady(const PendingPtr& pending, Time deadline, ReadyCalls::Function give_up,
                         ReadyCalls::Function function) {
  if (inherited()) return function();
  ready_calls_.Add(pending, deadline, std::move(give_up), std::move(function));
  if (socket_ >= 0) {
    ::eventfd_write(wake_, 1);
  } else if (pending->settled()) {
    ready_calls_.Call();
  }
}

void Connection::Forget(const Pending& pending) {
  if (!inherited()) ready_calls_.Forget(pending);
}

void Connection::GiveUp(Pending& pending, Error why) {
  if (inherited() || !Settle(pending, std::unexpected(std::move(why)))) return;
  if (outgoing_.Withdraw(pending.id())) {
    const MutexLock lock(mutex_);
    pending_.erase(pending.id());
    return;
  }
  local::Request request;
  request.mutable_cancel()->set_request(pending.id());
  request.mutable_cancel()->set_count(pending.count());
  Tell(request);
}

void Connection::Drop(const PendingPtr& pending) {
  if (inherited()) return;
  GiveUp(*pending, Error(ErrorCode::kCancelled, "nobody waits for the answer"));
  if (pending->outcome()) Release(pending->id(), pending->count());
}

void Connection::Tell(const local::Request& request) {
  // If it can't be sent the connection has ended, and with it what this request is about.
  (void)Send(request);
}

void Connection::Release(std::uint64_t made_by, std::uint32_t count) {
  local::Request request;
  request.mutable_release()->set_made_by(made_by);
  request.mutable_release()->set_count(count);
  Tell(request);
}

Result<void> Connection::Send(const local::Request& request, FileDescriptor descriptor) {
  if (inherited()) return std::unexpected(Inherited());
  if (request.ByteSizeLong() > wire::kMaxLocalRequest) {
    return std::unexpected(
        Error(ErrorCode::kInvalidArgument, "the request is too large: metadata has at most 4 KiB"));
  }
  return OnSent(outgoing_.Send(request, std::move(descriptor)));
}

Result<void> Connection::OnSent(const Result<bool>& waits) {
  if (!waits) {
    lost_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    return std::unexpected(Lost(waits.error().message));
  }
  if (*waits) ::eventfd_write(wake_, 1);
  return {};
}

void Connection::AddSink(std::uint64_t id, std::weak_ptr<NewsSink> sink) {
  if (inherited()) return;
  const MutexLock lock(mutex_);
  sinks_.emplace(id, std::move(sink));
}

void Connection::RemoveSink(std::uint64_t id) {
  if (inherited()) return;
  const MutexLock lock(mutex_);
  sinks_.erase(id);
}

void Connection::Close() {
  if (inherited()) return;
  const Error why(ErrorCode::kCancelled, "the client was closed");
  std::vector<PendingPtr> waiting;
  std::vector<std::shared_ptr<NewsSink>> sinks;
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = why;
    for (const auto& [id, pending] : pending_) waiting.push_back(pending);
    for (const auto& [id, sink] : sinks_) sinks.push_back(sink.lock());
  }
  for (const auto& pending : waiting) GiveUp(*pending, why);
  for (const auto& sink : sinks) {
    if (sink) sink->OnEnd(why);
  }
  Leave();
}

void Connection::Leave() {
  if (socket_ < 0 || inherited() || lost()) return;
  local::Request request;
  request.mutable_leave();
  Tell(request);
}

}  // namespace hoplite::client
