#include "node/local/end_watch.h"

#include <utility>

#include <poll.h>

namespace hoplite::node {
namespace {

using Descriptor = asio::posix::stream_descriptor;

bool IsReadable(Descriptor& descriptor) {
  pollfd asked{.fd = descriptor.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

// The reactor may wake a wait for nothing: a descriptor inherits the state of one that was closed,
// together with readiness of that one which is still queued.
void AwaitEnd(const std::weak_ptr<Descriptor>& watched, std::function<void()> on_end) {
  const auto waiting = watched.lock();
  waiting->async_wait(Descriptor::wait_read,
                      [watched, on_end = std::move(on_end)](asio::error_code error) mutable {
                        const auto woken = watched.lock();
                        if (error || !woken) return;
                        if (!IsReadable(*woken)) return AwaitEnd(watched, std::move(on_end));
                        on_end();
                      });
}

}  // namespace

EndWatch::EndWatch(asio::io_context& loop, FileDescriptor descriptor)
    : descriptor_(std::make_shared<Descriptor>(loop)) {
  if (descriptor.get() < 0) return;
  asio::error_code error;
  descriptor_->assign(descriptor.get(), error);
  if (!error) descriptor.Release();
}

void EndWatch::OnEnd(std::function<void()> on_end) { AwaitEnd(descriptor_, std::move(on_end)); }

}  // namespace hoplite::node
