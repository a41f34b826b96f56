// How much memory this process may still take. The kernel reserves more than that for a memfd
// without an error, and later kills some process.
#pragma once

#include <cstdint>
#include <string>

namespace hoplite::store {

// The least of what the machine has available and what is left in the limits of this process's
// control groups (version 2).
std::uint64_t AvailableMemory();

// The same from other places than /proc and /sys/fs/cgroup, for tests.
std::uint64_t AvailableMemoryFrom(const std::string& proc, const std::string& cgroup_root);

}  // namespace hoplite::store
