// The one piece of memory that holds a node's objects. The seam that lets a simulation use plain
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <hoplite/result.h>

namespace hoplite::store {

class SharedSegment {
 public:
  virtual ~SharedSegment() = default;
  virtual std::span<std::byte> bytes() = 0;
  // The memfd behind it, for sendfile and for handing to workers; -1 where there is none.
  virtual int descriptor() const = 0;
  // The same memory opened so that the kernel refuses to map it writable; -1 where there is none.
  virtual int read_only_descriptor() const = 0;
  // Bytes [0, result) have pages already: touching them costs no fault. Grows while a large segment
  // is populated in the background. Thread-safe.
  virtual std::uint64_t warm_bytes() const = 0;
};

// A memfd, reserved in full (so a later touch can never fail) and populated: up to 256 MiB before
// this returns, the rest by a thread of its own. resource_exhausted names what was asked and what
// is there.
Result<std::unique_ptr<SharedSegment>> CreateMemfdSegment(std::uint64_t bytes);
// Plain memory, for simulation and tests.
std::unique_ptr<SharedSegment> CreateHeapSegment(std::uint64_t bytes);

}  // namespace hoplite::store
