#include "directory/service_loop.h"

#include <memory>
#include <utility>

#include <asio/post.hpp>

namespace hoplite::directory {

void AsioServiceLoop::Post(Work work) { asio::post(loop_, std::move(work)); }

void AsioServiceLoop::After(Duration delay, Work work) {
  auto timer = std::make_shared<net::Timer>(loop_);
  timer->expires_after(delay);
  timer->async_wait([timer, work = std::move(work)](const asio::error_code&) { work(); });
}

void AsioServiceLoop::SetAlarm(Time when, Work work) {
  if (when == kNever) return alarm_.cancel();
  alarm_.expires_at(when);
  alarm_.async_wait([work = std::move(work)](const asio::error_code& error) {
    if (!error) work();
  });
}

}  // namespace hoplite::directory
