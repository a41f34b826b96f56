// How much memory this process may still take. The kernel reserves more than that for a memfd
// without an error, and later kills some process.
#pragma once

#include <cstdint>
#include <string>

namespace hoplite::store {

// What is left below a limit, and whose limit that is, for error messages.
struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string whose;
};

// The tightest of the machine's memory and the limits of this process's control groups (version 1,
// version 2, or both side by side).
MemoryLimit AvailableMemory();
// The same from another place than /proc, for tests.
MemoryLimit AvailableMemoryFrom(const std::string& proc);

// The tightest of the process's own limits on one piece of shared memory: of a file's size, beyond
// which the kernel kills the process (SIGXFSZ), and of addresses.
MemoryLimit LargestMapping();

}  // namespace hoplite::store
