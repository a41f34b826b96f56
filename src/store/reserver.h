// Reserver: reserves the rest of a segment, piece by piece, on a thread of its own.
//
// Must never: let anybody touch what is not reserved, where the kernel would kill the process if no
// memory is left. So it tells how far it came after each piece, and only that far is used.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>

#include "store/segment.h"

namespace hoplite::store {

class Reserver {
 public:
  // On that thread. Bytes [0, reserved) may be used; `last`: there will be no more, whatever the
  // segment's size.
  using OnReserved = std::function<void(std::uint64_t reserved, bool last)>;

  // Where no thread can be made the constructor reserves everything itself.
  Reserver(SharedSegment& segment, OnReserved on_reserved);

 private:
  static void Run(SharedSegment& segment, const OnReserved& on_reserved,
                  const std::stop_token& stop);

  std::jthread thread_;  // stopped and joined in the destructor, between two pieces
};

}  // namespace hoplite::store
