// Calls of the system that fail when a test says so: a shared library that is loaded before the C
// library, so that this process's calls of them come here first.
#pragma once

#include <cstdint>

namespace hoplite::exhaustion {

enum class Call : std::uint8_t {
  kMmap,
  kMadvise,
  kSocket,
  kSocketpair,
  kAccept,
  kConnect,
  kMemfdCreate,
  kFallocate,  // of memory; no space is left
  kOpen,
  kDiskFallocate,  // of a file; no space is left, too
  kPwrite,         // an error of the disk, as the next
  kPread,
  kEventfd,
  kPipe,
  kEpollCreate,
  kTimerfdCreate,
  kPthreadCreate,
  kDescriptor,  // recvmsg, without the descriptor that was sent
  kNone,
};

// The n-th of these calls from now on fails, on whatever thread, once. Those of other people's
// libraries are not counted (docs/failures.md says why).
[[gnu::visibility("default")]] void FailAt(Call call, int n);
// No call fails from now on. True if one did.
[[gnu::visibility("default")]] bool Disarm();

}  // namespace hoplite::exhaustion
