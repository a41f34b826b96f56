#include "node/pull/subscription.h"

#include <algorithm>
#include <utility>

namespace hoplite::node {

Subscription::Subscription(directory::DirectoryClient& directory, EntryPtr entry,
                           Subscriber subscriber)
    : directory_(directory),
      entry_(std::move(entry)),
      subscriber_(std::make_shared<Subscriber>(std::move(subscriber))) {
  const bool first =
      std::ranges::all_of(entry_->subscribers, [](const auto& one) { return one.expired(); });
  entry_->subscribers.push_back(subscriber_);
  if (first) directory_.Send(planner::Subscribe{entry_->object});
}

Subscription::~Subscription() {
  subscriber_.reset();
  std::erase_if(entry_->subscribers, [](const auto& one) { return one.expired(); });
  if (!entry_->subscribers.empty()) return;
  entry_->locations.clear();
  directory_.Send(planner::Unsubscribe{entry_->object});
}

}  // namespace hoplite::node
