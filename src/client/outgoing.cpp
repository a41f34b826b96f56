#include "client/outgoing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "base/try.h"
#include "wire/message_frame.h"
#include "wire/passed_descriptors.h"

namespace hoplite::client {

Outgoing::Message Outgoing::Make(const v1::local::Request& request, FileDescriptor descriptor) {
  Message message{.request = request.id(), .frame = {}, .descriptor = std::move(descriptor)};
  wire::AppendMessageFrame(request, message.frame);
  return message;
}

Result<bool> Outgoing::Send(const v1::local::Request& request, FileDescriptor descriptor) {
  Message message = Make(request, std::move(descriptor));
  const MutexLock lock(mutex_);
  message.held = holding_;
  Add(waiting_.end(), std::move(message));
  if (waiting_.size() == 1) TRY(Write());
  return stuck();
}

void Outgoing::Hold() {
  const MutexLock lock(mutex_);
  holding_ = true;
}

Result<bool> Outgoing::LetGo(const v1::local::Request& first, FileDescriptor descriptor) {
  Message message = Make(first, std::move(descriptor));
  const MutexLock lock(mutex_);
  Add(std::ranges::find(waiting_, true, &Message::held), std::move(message));
  for (Message& waiting : waiting_) waiting.held = false;
  holding_ = false;
  TRY(Write());
  return stuck();
}

Result<void> Outgoing::Flush() {
  const MutexLock lock(mutex_);
  return Write();
}

bool Outgoing::Withdraw(std::uint64_t request) {
  const MutexLock lock(mutex_);
  const auto found = by_request_.find(request);
  if (found == by_request_.end()) return false;
  const Messages::iterator message = found->second;
  // Half a message can't be taken back.
  if (message == waiting_.begin() && sent_ > 0) return false;
  Remove(message);
  return true;
}

bool Outgoing::waits() const {
  const MutexLock lock(mutex_);
  return stuck();
}

void Outgoing::Add(Messages::iterator before, Message message) {
  const std::uint64_t request = message.request;
  const auto added = waiting_.insert(before, std::move(message));
  if (request != 0) by_request_.emplace(request, added);
}

void Outgoing::Remove(Messages::iterator message) {
  by_request_.erase(message->request);
  waiting_.erase(message);
}

Result<void> Outgoing::Write() {
  wire::PassedDescriptors passed;
  while (stuck()) {
    Message& message = waiting_.front();
    std::string& frame = message.frame;
    iovec piece{.iov_base = frame.data() + sent_, .iov_len = frame.size() - sent_};
    msghdr head{};
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    const int descriptor = message.descriptor.get();
    if (descriptor >= 0) passed.Attach({&descriptor, 1}, head);
    const ssize_t n = ::sendmsg(socket_, &head, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return std::unexpected(Error(ErrorCode::kUnavailable, strerror(errno)));
    message.descriptor.Reset();
    sent_ += static_cast<std::size_t>(n);
    if (sent_ < frame.size()) continue;
    Remove(waiting_.begin());
    sent_ = 0;
  }
  return {};
}

}  // namespace hoplite::client
