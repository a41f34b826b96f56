// LinkMeter: which objects' bytes leave the node, and how many. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include <asio/io_context.hpp>

#include <hoplite/object_id.h>

#include "base/mutex.h"
#include "net/signal.h"

namespace hoplite::node {

class LinkMeter {
 public:
  using Bytes = std::atomic<std::uint64_t>;

  explicit LinkMeter(asio::io_context& main) : used_(main) {}

  // A stream that sends the object begins: where it counts its bytes, as long as it lasts.
  std::shared_ptr<Bytes> Sends(const ObjectId& object);
  // A stream that receives begins.
  void Receives() noexcept { used_.Notify(); }

  // Notified when a stream begins; for one waiter, on the main loop.
  net::Signal& used() { return used_; }
  // The bytes that were sent since this was asked last, of each object that has been sent since then.
  std::map<ObjectId, std::uint64_t> Take();

 private:
  net::Signal used_;
  Mutex mutex_;
  std::map<ObjectId, std::shared_ptr<Bytes>> sent_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::node
