// Arriving: an object of a version, read from its first byte on while it arrives: in the node's store, or
// through a window into memory of this process where the store is smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/time.h"
#include "client/channel/manifest.h"
#include "client/client_access.h"
#include "client/connection.h"

namespace hoplite::client {

class Arriving {
 public:
  static Result<Arriving> Open(std::shared_ptr<Connection> connection, const ObjectId& id,
                               Time deadline);
  Arriving(Arriving&&) noexcept;
  Arriving& operator=(Arriving&&) noexcept;
  ~Arriving();

  std::uint64_t size() const;
  // As of a Reader. What it gives stays while this lives.
  Result<std::span<const std::byte>> WaitFor(std::uint64_t bytes, Time deadline);

 private:
  struct alignas(kPartAlignment) Line {
    std::byte bytes[kPartAlignment];
  };
  Arriving(std::shared_ptr<Connection> connection,
           std::unique_ptr<ClientAccess::ReaderImpl> reader);
  Result<void> CopyNext(Time deadline);

  std::shared_ptr<Connection> connection_;
  std::unique_ptr<ClientAccess::ReaderImpl> reader_;
  std::unique_ptr<Line[]> memory_;  // none: it lies in the store
  std::span<std::byte> into_;
  std::uint64_t copied_ = 0;
};

}  // namespace hoplite::client
