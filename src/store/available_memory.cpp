#include "store/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace hoplite::store {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The number after `key` in a file of "key number" lines; an empty key means the first word.
std::optional<std::uint64_t> NumberIn(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  while (key.empty() || file >> word) {
    if (key.empty() || word == key) {
      std::uint64_t number = 0;
      if (file >> number) return number;
      return std::nullopt;  // "max", or no such file
    }
  }
  return std::nullopt;
}

std::uint64_t LeftInGroup(const std::string& group) {
  const auto limit = NumberIn(group + "/memory.max", "");
  const auto current = NumberIn(group + "/memory.current", "");
  if (!limit || !current) return kUnlimited;
  const std::uint64_t cached = NumberIn(group + "/memory.stat", "inactive_file").value_or(0);
  const std::uint64_t taken = *current - std::min(cached, *current);
  return *limit - std::min(taken, *limit);
}

// "/a/b" from the line "0::/a/b".
std::string OwnGroup(const std::string& proc) {
  std::ifstream file(proc + "/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "/";
}

}  // namespace

std::uint64_t AvailableMemoryFrom(const std::string& proc, const std::string& cgroup_root) {
  const auto kilobytes = NumberIn(proc + "/meminfo", "MemAvailable:");
  std::uint64_t available = kilobytes ? *kilobytes * 1024 : kUnlimited;
  // A limit of any group above ours binds too.
  for (std::string group = OwnGroup(proc);; group.resize(group.find_last_of('/'))) {
    available = std::min(available, LeftInGroup(cgroup_root + group));
    if (group.empty()) return available;
  }
}

std::uint64_t AvailableMemory() { return AvailableMemoryFrom("/proc", "/sys/fs/cgroup"); }

}  // namespace hoplite::store
