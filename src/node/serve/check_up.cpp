#include "node/serve/check_up.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/process_use.h"
#include "base/try.h"
#include "store/available_memory.h"

namespace hoplite::node {
namespace {

constexpr std::chrono::seconds kPeerPatience{3};

wire::CheckUp OfThisProcess() {
  using std::chrono::microseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const store::MemoryLimit memory = store::AvailableMemory();
  const ProcessUse process = OwnProcessUse();
  return {.version = process.version,
          .since_epoch_us =
              static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(now).count()),
          .available_bytes = memory.bytes,
          .limited_by = memory.whose,
          .descriptors = process.descriptors,
          .descriptor_limit = process.descriptor_limit};
}

// How long it took to be greeted by that peer.
net::Task<Result<Duration>> Reach(DataLoop& data_loop, DataPlane& data_plane, wire::CheckAsk ask) {
  const Time began = Now();
  CO_TRY_ASSIGN(const net::StreamPtr stream,
                co_await data_plane.transport().Connect(ask.address, kPeerPatience));
  const OpenStream open(data_loop, stream);
  CO_TRY(co_await net::Greet(stream, data_plane.identity(), ask.peer, kPeerPatience));
  stream->Close();
  co_return Now() - began;
}

}  // namespace

net::Task<wire::CheckUp> CheckUpOf(DataLoop& data_loop, DataPlane& data_plane, wire::CheckAsk ask) {
  wire::CheckUp told = OfThisProcess();
  if (ask.address.empty()) co_return told;
  const auto reached = co_await Reach(data_loop, data_plane, std::move(ask));
  if (reached) {
    const auto took = std::chrono::ceil<std::chrono::microseconds>(*reached).count();
    told.reached_us = static_cast<std::uint64_t>(std::max<std::int64_t>(took, 1));
  } else {
    told.unreached = reached.error().message;
  }
  co_return told;
}

}  // namespace hoplite::node
