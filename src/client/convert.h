// Messages of the local protocol as public types, and ids as its bytes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <hoplite/drain.h>
#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/result.h>

#include "hoplite/v1/local.pb.h"

namespace hoplite::client {

inline std::string IdBytes(const ObjectId& id) { return std::string(id.view()); }
// Below zero is zero.
inline void SetGrace(const std::optional<std::chrono::milliseconds>& grace,
                     v1::local::Request& request) {
  if (!grace) return;
  constexpr std::chrono::milliseconds kMost = std::chrono::days(365);
  const auto sent = std::clamp(*grace, std::chrono::milliseconds(0), kMost);
  request.set_grace_us(static_cast<std::uint64_t>(std::chrono::microseconds(sent).count()));
}
// A code that this library does not know becomes internal.
Error ToError(const v1::local::Error& message);
DrainOutcome ToDrainOutcome(const v1::local::Drained& message);
ReduceOutcome ToReduceOutcome(const v1::local::Reduced& message, const ObjectId& target);

}  // namespace hoplite::client
