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
  // Bytes [0, result) are reserved: touching them can't fail and, as far as the kernel makes pages
  // beforehand, costs no fault. Thread-safe.
  virtual std::uint64_t reserved_bytes() const = 0;
  // Reserves the next piece of the rest, in up to a second. resource_exhausted names what is there:
  // then no more can be had. One thread at a time.
  virtual Result<void> ReserveMore() = 0;
};

// A memfd, reserved up to 64 MiB before this returns, however large it is: a machine may need ten
// seconds for some GiB. resource_exhausted names what was asked and what is there.
Result<std::unique_ptr<SharedSegment>> CreateMemfdSegment(std::uint64_t bytes);
// Plain memory, for simulation and tests.
std::unique_ptr<SharedSegment> CreateHeapSegment(std::uint64_t bytes);

}  // namespace hoplite::store
