#include "store/reserver.h"

#include <utility>

#include "base/exhaustion.h"
#include "base/log.h"
#include "base/text.h"

namespace hoplite::store {

Reserver::Reserver(SharedSegment& segment, OnReserved on_reserved) {
  if (segment.reserved_bytes() >= segment.bytes().size()) return;
  auto thread = StartThread<std::jthread>(
      [&segment, on_reserved](const std::stop_token& stop) { Run(segment, on_reserved, stop); });
  if (thread) {
    thread_ = *std::move(thread);
  } else {
    Run(segment, on_reserved, {});
  }
}

void Reserver::Run(SharedSegment& segment, const OnReserved& on_reserved,
                   const std::stop_token& stop) {
  const std::uint64_t size = segment.bytes().size();
  while (segment.reserved_bytes() < size && !stop.stop_requested()) {
    const Result<void> more = segment.ReserveMore();
    const std::uint64_t reserved = segment.reserved_bytes();
    if (!more) {
      log::Warn("this node has {} of memory, not the {} that it was to have: {}",
                FormatSize(reserved), FormatSize(size), more.error().message);
    }
    on_reserved(reserved, !more || reserved == size);
    if (!more) return;
  }
}

}  // namespace hoplite::store
