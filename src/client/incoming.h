// Incoming: an object on its way into the caller's memory. It is opened, then copied while it
// arrives; again from the start if it is replaced meanwhile.
//
// Decides: which step comes next. Is told: that what it asked for is answered. It is given up by
// destroying it. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/client_access.h"
#include "client/connection.h"
#include "client/get_many.h"

namespace hoplite::client {

struct IncomingOptions {
  Time deadline = kNever;
  bool only_if_owned = false;
};

class Incoming {
 public:
  using Size = std::uint64_t;

  // Asks to open it, unless the node has given a view of it already; that is released here.
  Incoming(std::shared_ptr<Connection> connection, const ObjectId& id, RoomFor room_for,
           const IncomingOptions& options, const Result<Viewed>& viewed);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  // What it waits for, until it has an outcome.
  Pending& asked() const { return *asked_; }
  // `asked` is settled: takes what is there, and asks for more.
  void GoOn();
  // Its size, once all of it is copied.
  const std::optional<Result<Size>>& outcome() const { return outcome_; }
  // Whoever was asked for room gave none.
  bool refused() const { return refused_; }

 private:
  void Open();
  Result<void> OnOpened(const local::Answer& answer);
  // True: all of it is copied.
  Result<bool> Take();

  const std::shared_ptr<Connection> connection_;
  const ObjectId id_;
  const RoomFor room_for_;
  const IncomingOptions options_;
  PendingPtr asked_;
  std::unique_ptr<ClientAccess::ReaderImpl> reader_;  // once it is open
  std::span<std::byte> into_;
  Size wanted_ = 0;  // the prefix that was asked for
  Size copied_ = 0;
  bool refused_ = false;
  std::optional<Result<Size>> outcome_;
};

// One answer for each, in their order: its size. What the node has is copied first, while the others
// are asked for at once, and copied as they come.
std::vector<Result<std::uint64_t>> GetManyInto(const std::shared_ptr<Connection>& connection,
                                               std::span<const ObjectId> ids,
                                               const RoomForEach& room_for,
                                               const IncomingOptions& options);

}  // namespace hoplite::client
