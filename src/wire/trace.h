// A member's recorded decisions on their way to whoever asks for them: the answer to a TraceAsk of the
// data plane, and to a TraceRequest of a shard.
//
//   each   u64 µs since 1970 | object id | u8 what | u8 bytes of the text | text
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "base/recorder.h"

namespace hoplite::wire {

// With the time of day, by which those of several hosts are put in order.
struct TraceEntry {
  std::uint64_t since_epoch_us = 0;
  Decided what = Decided::kAsked;
  ObjectId object;
  std::string text;

  friend bool operator==(const TraceEntry&, const TraceEntry&) = default;
};

// `now` and `since_epoch_us` are of one moment.
std::vector<std::byte> EncodeTrace(const std::vector<Recorded>& recorded, Time now,
                                   std::uint64_t since_epoch_us);
// At this moment.
std::vector<std::byte> EncodeTrace(const std::vector<Recorded>& recorded);
// `protocol` errors name what was wrong.
Result<std::vector<TraceEntry>> DecodeTrace(std::span<const std::byte> bytes);

}  // namespace hoplite::wire
