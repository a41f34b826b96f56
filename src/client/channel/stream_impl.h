// A version that is read part by part while it arrives.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <hoplite/channel.h>
#include <hoplite/client.h>
#include <hoplite/reader.h>

#include "base/time.h"
#include "client/channel/head.h"
#include "client/channel/manifest.h"
#include "client/channel/patched.h"

namespace hoplite {

struct SnapshotStream::Impl {
  // Until the manifest is there.
  static Result<std::unique_ptr<Impl>> Open(Client& client, const client::Head& head,
                                            Time deadline);
  Result<const Part*> Next(Time deadline);
  Result<std::span<const std::byte>> BytesOf(const client::Place& place, Time deadline);

  std::uint64_t version;
  Reader newest;
  std::uint64_t before;                    // its bytes before its parts
  std::vector<Future<Buffer>> older = {};  // the head's others
  client::Manifest manifest = {};
  client::Patched patched = {};
  std::size_t next = 0;
};

}  // namespace hoplite
