#include "client/outgoing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "base/try.h"
#include "wire/local_frame.h"

namespace hoplite::client {

Result<bool> Outgoing::Send(const v1::local::Request& request) {
  Message message{.request = request.id(), .frame = {}};
  wire::AppendLocalFrame(request, message.frame);
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(message));
  if (waiting_.size() == 1) TRY(Write());
  return !waiting_.empty();
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
  return !waiting_.empty();
}

Result<void> Outgoing::Write() {
  while (!waiting_.empty()) {
    const std::string& frame = waiting_.front().frame;
    const ssize_t n =
        ::send(socket_, frame.data() + sent_, frame.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return std::unexpected(Error(ErrorCode::kUnavailable, strerror(errno)));
    sent_ += static_cast<std::size_t>(n);
    if (sent_ < frame.size()) continue;
    waiting_.pop_front();
    sent_ = 0;
  }
  return {};
}

}  // namespace hoplite::client
