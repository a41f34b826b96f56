#include <algorithm>
#include <new>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include <hoplite/subscription.h>

#include "base/clock.h"
#include "client/empty.h"
#include "client/interruption.h"
#include "client/subscription_impl.h"

namespace hoplite {
namespace {

constexpr std::size_t kMaxUnfetched = 4096;

std::string_view WordFor(LocationKind kind) {
  switch (kind) {
    case LocationKind::kPartial:
      return "partial";
    case LocationKind::kComplete:
      return "complete";
    case LocationKind::kGone:
      return "gone";
    case LocationKind::kInDirectory:
      return "in_directory";
  }
  return "unknown";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, LocationKind kind) { return out << WordFor(kind); }

void LocationQueue::OnNews(const client::local::Answer& news) {
  const auto& location = news.location();
  const MutexLock lock(mutex_);
  if (ended_) return;
  if (changes_.size() == kMaxUnfetched) {
    ended_ = Error(ErrorCode::kResourceExhausted, "too many changes of locations were not fetched");
  } else {
    changes_.push_back({.kind = static_cast<LocationKind>(location.kind()),
                        .node = location.node(),
                        .version = location.version()});
  }
  changed_.NotifyOne();
}

void LocationQueue::OnEnd(const Error& why) {
  const MutexLock lock(mutex_);
  if (!ended_) ended_ = why;
  changed_.NotifyAll();
}

// Who interrupts may call a client: not while the reader stands at the mutex.
Result<LocationChange> LocationQueue::Next(Time deadline) {
  for (;;) {
    const Time until = std::min(deadline, client::Interruption::NextQuestion());
    if (auto change = NextBefore(until)) return *std::move(change);
    if (Now() >= deadline) {
      return std::unexpected(Error(ErrorCode::kTimeout, "no location has changed"));
    }
    if (client::Interruption::Wanted()) return std::unexpected(client::Interruption::Reason());
  }
}

std::optional<Result<LocationChange>> LocationQueue::NextBefore(Time until) {
  const MutexLock lock(mutex_);
  for (bool in_time = true; changes_.empty() && !ended_;) {
    if (!in_time) return std::nullopt;
    in_time = changed_.WaitUntil(mutex_, until);
  }
  if (changes_.empty()) return std::unexpected(*ended_);
  LocationChange change = std::move(changes_.front());
  changes_.pop_front();
  return change;
}

Subscription::Impl::Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by,
                         std::shared_ptr<LocationQueue> queue)
    : connection_(std::move(connection)), made_by_(made_by), queue_(std::move(queue)) {}

Subscription::Impl::~Impl() {
  // A thread of the parent may have been waiting on the queue at the fork. In this child that wait
  // never ends, so the queue can't be destroyed.
  if (connection_->inherited()) {
    static_cast<void>(new (std::nothrow) std::shared_ptr(std::move(queue_)));
  }
  connection_->RemoveSink(made_by_);
  connection_->Release(made_by_);
}

Result<LocationChange> Subscription::Impl::Next(Time deadline) {
  if (connection_->inherited()) return std::unexpected(client::Connection::Inherited());
  if (connection_->on_reader()) deadline = std::min(deadline, Now());  // it brings the news
  return queue_->Next(deadline);
}

Subscription::Subscription() = default;
Subscription::Subscription(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Subscription::Subscription(Subscription&&) noexcept = default;
Subscription& Subscription::operator=(Subscription&&) noexcept = default;
Subscription::~Subscription() = default;

Result<LocationChange> Subscription::Next(std::chrono::milliseconds timeout) {
  if (!impl_) {
    return std::unexpected(client::Empty("subscription", "Client::Subscribe gives one"));
  }
  return impl_->Next(client::DeadlineAfter(timeout));
}

}  // namespace hoplite
