// A version that is read part by part while it arrives.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/client.h>
#include <hoplite/future.h>

#include "base/time.h"
#include "client/channel/arriving.h"
#include "client/channel/head.h"
#include "client/channel/manifest.h"
#include "client/channel/patched.h"

namespace hoplite {

struct SnapshotStream::Impl {
  // Until the manifest is there.
  static Result<std::unique_ptr<Impl>> Open(Client& client,
                                            std::shared_ptr<client::Connection> connection,
                                            const client::Head& head, Time deadline);
  Result<const Part*> Next(Time deadline);
  Result<std::span<const std::byte>> BytesOf(const client::Place& place, Time deadline);
  Result<std::span<const std::byte>> BytesOfOlder(std::size_t place, Time deadline);

  // Another of the head's objects.
  struct Older {
    ObjectId id;
    Future<Buffer> whole;
    std::optional<client::Arriving> alone = {};  // it is larger than the store has room for
  };

  std::shared_ptr<client::Connection> connection;
  std::uint64_t version;
  client::Arriving newest;
  std::uint64_t before;  // its bytes before its parts
  std::vector<Older> older = {};
  client::Manifest manifest = {};
  client::Patched patched = {};
  std::size_t next = 0;
};

}  // namespace hoplite
