// Subscription: while it lives, this node hears of an object's locations and of its Delete.
//
// Decides: when the shard is told, which is by the first and the last subscription of an object, and
// by each that relies on an owner. Main loop only.
#pragma once

#include <memory>

#include "directory/directory_client.h"
#include "node/core/object_table.h"

namespace hoplite::node {

class Subscription {
 public:
  Subscription(directory::DirectoryClient& directory, EntryPtr entry, Subscriber subscriber);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  directory::DirectoryClient& directory_;
  const EntryPtr entry_;
  std::shared_ptr<Subscriber> subscriber_;
  const Expecting expecting_;
};

}  // namespace hoplite::node
