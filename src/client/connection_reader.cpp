// What a Connection does on its reader's thread.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/try.h"
#include "client/connection.h"
#include "client/convert.h"
#include "client/no_descriptor.h"
#include "wire/passed_descriptors.h"

namespace hoplite::client {
namespace {

Result<local::Answer> OutcomeOf(local::Answer answer) {
  if (!answer.has_error()) return answer;
  return std::unexpected(ToError(answer.error()));
}

// How many things this answer may have made: the first has its id, the others those that follow.
std::uint32_t MadeBy(const local::Answer& answer) {
  return answer.has_views() ? static_cast<std::uint32_t>(answer.views().got_size()) : 1;
}

}  // namespace

void Connection::Read() {
  bool open = true;
  while (!stopping_) {
    ready_calls_.Call();
    if (stopping_) break;
    if (!open) {
      WaitForCalls();
    } else if (const Result<void> read = ReadSome(); !read) {
      End(read.error());
      open = false;
    }
  }
}

// Until there is something to call by itself, for poll.
int Connection::PatienceMs() const {
  const Time next = ready_calls_.next();
  if (next == kNever) return -1;
  constexpr std::int64_t kLongest = 3600 * 1000;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongest));
}

void Connection::WaitForCalls() {
  pollfd looked{.fd = wake_, .events = POLLIN, .revents = 0};
  eventfd_t ignored = 0;
  if (::poll(&looked, 1, PatienceMs()) > 0) ::eventfd_read(wake_, &ignored);
}

// Meanwhile what waits for room is sent. False: look again.
Result<bool> Connection::WaitForBytes() {
  const short room = outgoing_.waits() ? POLLOUT : 0;
  std::array<pollfd, 2> looked{{{.fd = socket_, .events = static_cast<short>(POLLIN | room)},
                                {.fd = wake_, .events = POLLIN}}};
  if (::poll(looked.data(), looked.size(), PatienceMs()) < 0) return false;
  eventfd_t ignored = 0;
  if (looked[1].revents != 0) ::eventfd_read(wake_, &ignored);
  // If that fails the socket has ended, and reading finds out, after the node's last words.
  if ((looked[0].revents & POLLOUT) != 0) (void)outgoing_.Flush();
  return (looked[0].revents & ~POLLOUT) != 0;
}

Result<void> Connection::ReadSome() {
  TRY_ASSIGN(const bool there, WaitForBytes());
  if (!there) return {};
  wire::PassedDescriptors passed;
  std::array<char, wire::kReadBytes>
      room;  // NOLINT(cppcoreguidelines-pro-type-member-init): for bytes
  iovec piece{.iov_base = room.data(), .iov_len = room.size()};
  msghdr head{};
  head.msg_iov = &piece;
  head.msg_iovlen = 1;
  passed.MakeRoom(head);
  const ssize_t got = ::recvmsg(socket_, &head, MSG_CMSG_CLOEXEC);
  if (got < 0 && errno == EINTR) return {};
  if (got < 0) return std::unexpected(Error(ErrorCode::kUnavailable, strerror(errno)));
  if (got == 0) return std::unexpected(Error(ErrorCode::kUnavailable, "the node closed it"));
  heard_ = Now();
  for (FileDescriptor& came : wire::PassedDescriptors::Take(head)) TakeDescriptor(std::move(came));
  frames_.Received({room.data(), static_cast<std::size_t>(got)});
  TRY(HandleMessages());
  frames_.Keep();
  return {};
}

// The first descriptor is for reading. Later ones come with answers to Creates, which are not sent
// before the answer to Hello has come.
void Connection::TakeDescriptor(FileDescriptor descriptor) {
  if (descriptor.get() < 0) {
    unmapped_ = NoDescriptorLeft();
  } else if (!attached_) {
    Map(descriptor.Release(), SegmentMap::Access::kRead, readable_);
  } else if (!writable_mapped_) {
    Map(descriptor.Release(), SegmentMap::Access::kWrite, writable_);
    writable_mapped_ = writable_.mapped();
  }
}

void Connection::Map(int descriptor, SegmentMap::Access access, SegmentMap& map) {
  Result<SegmentMap> mapped = SegmentMap::Map(descriptor, access);
  if (mapped) {
    map = *std::move(mapped);
  } else {
    unmapped_ = mapped.error();
  }
}

// To a process that could not map the segment, an answer that tells where bytes lie is an error.
Result<local::Answer> Connection::CheckMapped(local::Answer answer) {
  const bool lacks = (answer.has_attached() && !readable_.mapped()) ||
                     (answer.has_draft_ready() && lacks_writable());
  attached_ |= answer.has_attached();
  if (!lacks) return answer;
  if (answer.has_draft_ready()) Release(answer.id());
  return std::unexpected(unmapped_.value_or(
      Error(ErrorCode::kProtocol, "the node answered without the descriptor of its memory")));
}

Result<void> Connection::HandleMessages() {
  for (;;) {
    TRY_ASSIGN(const auto message, frames_.Next());
    if (!message) return {};
    local::Answer answer;
    if (!answer.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
      return std::unexpected(
          Error(ErrorCode::kProtocol, "the node sent a message that is no Answer"));
    }
    TRY(Handle(std::move(answer)));
  }
}

Result<void> Connection::Handle(local::Answer answer) {
  if (answer.has_location() || answer.has_draft_failed()) {
    HandleNews(answer);
    return {};
  }
  const std::uint64_t id = answer.id();
  Result<local::Answer> outcome = OutcomeOf(std::move(answer));
  if (outcome) outcome = CheckMapped(*std::move(outcome));
  if (id == 0)
    return std::unexpected(outcome ? Error(ErrorCode::kProtocol, "an answer to nothing")
                                   : outcome.error());
  PendingPtr pending;
  {
    const MutexLock lock(mutex_);
    const auto at = pending_.find(id);
    if (at == pending_.end()) return {};
    pending = std::move(at->second);
    pending_.erase(at);
  }
  const std::uint32_t made = outcome ? MadeBy(*outcome) : 0;
  // The requester gave up before: nobody else can release what the late answer made.
  if (!Settle(*pending, std::move(outcome)) && made > 0) Release(id, made);
  return {};
}

void Connection::HandleNews(const local::Answer& news) {
  std::shared_ptr<NewsSink> sink;
  {
    const MutexLock lock(mutex_);
    if (const auto at = sinks_.find(news.id()); at != sinks_.end()) sink = at->second.lock();
  }
  if (sink) sink->OnNews(news);
}

void Connection::End(const Error& why) {
  std::unordered_map<std::uint64_t, PendingPtr> waiting;
  std::unordered_map<std::uint64_t, std::weak_ptr<NewsSink>> sinks;
  const Error lost(why.code, "the connection to the node has ended: " + why.message);
  {
    const MutexLock lock(mutex_);
    if (!ended_) ended_ = lost;
    lost_ = true;
    waiting.swap(pending_);
    sinks.swap(sinks_);
  }
  ::shutdown(socket_, SHUT_RDWR);  // the node must see it, when we end because of what it sent
  for (const auto& [id, pending] : waiting) Settle(*pending, std::unexpected(lost));
  for (const auto& [id, sink] : sinks) {
    if (const auto alive = sink.lock()) alive->OnEnd(lost);
  }
}

}  // namespace hoplite::client
