#include "client/outgoing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "base/try.h"
#include "wire/local_frame.h"
#include "wire/passed_descriptors.h"

namespace hoplite::client {

Outgoing::Message Outgoing::Make(const v1::local::Request& request, FileDescriptor descriptor) {
  Message message{.request = request.id(), .frame = {}, .descriptor = std::move(descriptor)};
  wire::AppendLocalFrame(request, message.frame);
  return message;
}

Result<bool> Outgoing::Send(const v1::local::Request& request, FileDescriptor descriptor) {
  Message message = Make(request, std::move(descriptor));
  const MutexLock lock(mutex_);
  message.held = holding_;
  waiting_.push_back(std::move(message));
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
  waiting_.insert(std::ranges::find(waiting_, true, &Message::held), std::move(message));
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
  const auto found = std::ranges::find(waiting_, request, &Message::request);
  // Half a message can't be taken back.
  if (found == waiting_.end() || (found == waiting_.begin() && sent_ > 0)) return false;
  waiting_.erase(found);
  return true;
}

bool Outgoing::waits() const {
  const MutexLock lock(mutex_);
  return stuck();
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
    waiting_.pop_front();
    sent_ = 0;
  }
  return {};
}

}  // namespace hoplite::client
