// The changes that the node told and the user has not fetched yet.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include <hoplite/subscription.h>

#include "base/mutex.h"
#include "client/connection.h"

namespace hoplite {

class LocationQueue final : public client::NewsSink {
 public:
  void OnNews(const client::local::Answer& news) override;
  void OnEnd(const Error& why) override;
  // Changes that came before the end are still given.
  Result<LocationChange> Next(Time deadline);

 private:
  std::optional<Result<LocationChange>> NextBefore(Time until);

  Mutex mutex_;
  Condition changed_;
  std::deque<LocationChange> changes_ HOPLITE_GUARDED_BY(mutex_);
  std::optional<Error> ended_ HOPLITE_GUARDED_BY(mutex_);
};

class Subscription::Impl {
 public:
  Impl(std::shared_ptr<client::Connection> connection, std::uint64_t made_by,
       std::shared_ptr<LocationQueue> queue);
  ~Impl();
  Result<LocationChange> Next(Time deadline);

 private:
  const std::shared_ptr<client::Connection> connection_;
  const std::uint64_t made_by_;
  std::shared_ptr<LocationQueue> queue_;
};

}  // namespace hoplite
