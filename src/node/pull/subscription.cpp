#include "node/pull/subscription.h"

#include <utility>

namespace hoplite::node {

Subscription::Subscription(directory::DirectoryClient& directory, EntryPtr entry,
                           Subscriber subscriber)
    : directory_(directory),
      entry_(std::move(entry)),
      subscriber_(std::make_shared<Subscriber>(std::move(subscriber))),
      expecting_(entry_, subscriber_->expects) {
  if (entry_->followers().Add(subscriber_) || subscriber_->expects != 0) {
    directory_.Send(protocol::Subscribe{entry_->object, entry_->expectations().newest()});
  }
}

Subscription::~Subscription() {
  subscriber_.reset();
  if (entry_->followers().Sweep()) directory_.Send(protocol::Unsubscribe{entry_->object});
}

}  // namespace hoplite::node
