// Session: one node's open conversation, as the service sees it. One implementation writes to a
// socket, others post to a loop of the same process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "directory/session_outbox.h"
#include "protocol/node_action.h"
#include "wire/directory_session.h"

namespace hoplite::directory {

// Called on the service's loop.
class Session {
 public:
  virtual ~Session() = default;

  // At once: what must wait for the node waits in the outbox.
  virtual void Send(wire::ShardMessage message) = 0;
  // One message of this session was taken in: it may read on.
  virtual void Processed() = 0;
  // Says why, then ends; drops what still waits. Nothing is sent afterwards.
  virtual void End(wire::Ended why) = 0;
  // Ends at once, without words: the other side may be frozen.
  virtual void Abort() = 0;

  // Used by the service only: what the node will be told, and the number of its newest message that
  // was not acknowledged yet.
  SessionOutbox<protocol::NodeAction> outbox;
  std::optional<std::uint64_t> owed;
  std::atomic<bool> gone{false};         // the transport is; any thread
  const std::uint64_t number = made_++;  // in the order of their making

 private:
  static inline std::atomic<std::uint64_t> made_{0};
};

using SessionPtr = std::shared_ptr<Session>;

// The order of collections that are walked through. In the order of addresses the same seed of a
// simulation would not give the same history.
struct EarlierSession {
  bool operator()(const SessionPtr& a, const SessionPtr& b) const { return a->number < b->number; }
};
using SessionSet = std::set<SessionPtr, EarlierSession>;

}  // namespace hoplite::directory
