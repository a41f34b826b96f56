#include "store/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

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

MemoryLimit Tighter(MemoryLimit one, MemoryLimit other) {
  return other.bytes < one.bytes ? std::move(other) : std::move(one);
}

// Of one version of control groups.
struct FileNames {
  const char* limit;
  const char* taken;
  const char* cached;  // a key of memory.stat, for the group and those below it
};
constexpr FileNames kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                              "total_inactive_file"};
constexpr FileNames kVersion2{"/memory.max", "/memory.current", "inactive_file"};

std::uint64_t LeftInGroup(const std::string& group, const FileNames& names) {
  const auto limit = NumberIn(group + names.limit, "");
  const auto current = NumberIn(group + names.taken, "");
  if (!limit || !current) return kUnlimited;
  const std::uint64_t cached = NumberIn(group + "/memory.stat", names.cached).value_or(0);
  const std::uint64_t taken = *current - std::min(cached, *current);
  return *limit - std::min(taken, *limit);
}

bool HasWord(const std::string& words, std::string_view wanted) {
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, ',');) {
    if (word == wanted) return true;
  }
  return false;
}

// A mounted hierarchy of control groups that may limit memory.
struct Hierarchy {
  const FileNames* names;
  std::string root;  // the group that is mounted, in a container its own
  std::string mounted_at;
};

// From lines such as "36 25 0:31 /root /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory".
std::vector<Hierarchy> Hierarchies(const std::string& proc) {
  std::vector<Hierarchy> found;
  std::ifstream file(proc + "/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, root, mounted_at, type, source, options;
    words >> skipped >> skipped >> skipped >> root >> mounted_at;
    while (words >> skipped && skipped != "-") {
    }
    words >> type >> source >> options;
    const bool version1 = type == "cgroup" && HasWord(options, "memory");
    if (version1) found.push_back({&kVersion1, root, mounted_at});
    if (type == "cgroup2") found.push_back({&kVersion2, root, mounted_at});
  }
  return found;
}

// This process's group: "/a/b" from the line "4:memory:/a/b", or "0::/a/b" of version 2.
std::string OwnGroup(const std::string& proc, const FileNames* names) {
  std::ifstream file(proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool wanted = names == &kVersion1 ? HasWord(controllers, "memory") : controllers.empty();
    if (wanted) return line.substr(second + 1);
  }
  return "/";
}

// Where the group is below the mount. A container may see its group's name on the host, although
// only the group itself is mounted.
std::string BelowMount(const std::string& group, const std::string& root) {
  if (root != "/" && !group.starts_with(root)) return "";
  const std::string below = root == "/" ? group : group.substr(root.size());
  return below == "/" ? "" : below;
}

// A limit of any group above ours binds, too.
MemoryLimit LeftInHierarchy(const Hierarchy& hierarchy, const std::string& own) {
  MemoryLimit left{kUnlimited, ""};
  for (std::string group = BelowMount(own, hierarchy.root);;
       group.resize(group.find_last_of('/'))) {
    const std::string path = hierarchy.mounted_at + group;
    left = Tighter(std::move(left),
                   {LeftInGroup(path, *hierarchy.names), "the limit of the control group " + path});
    if (group.find('/') == std::string::npos) return left;
  }
}

std::uint64_t SoftLimit(__rlimit_resource which) {
  rlimit limit{};
  const bool known = ::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? limit.rlim_cur : kUnlimited;
}

}  // namespace

MemoryLimit AvailableMemoryFrom(const std::string& proc) {
  const auto kilobytes = NumberIn(proc + "/meminfo", "MemAvailable:");
  MemoryLimit left{kilobytes ? *kilobytes * 1024 : kUnlimited, "the machine's memory"};
  for (const Hierarchy& hierarchy : Hierarchies(proc)) {
    left = Tighter(std::move(left), LeftInHierarchy(hierarchy, OwnGroup(proc, hierarchy.names)));
  }
  return left;
}

MemoryLimit AvailableMemory() { return AvailableMemoryFrom("/proc"); }

MemoryLimit LargestMapping() {
  const std::uint64_t addresses = SoftLimit(RLIMIT_AS);
  const std::uint64_t pages = NumberIn("/proc/self/statm", "").value_or(0);
  const std::uint64_t mapped = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return Tighter({SoftLimit(RLIMIT_FSIZE), "the limit of a file's size (ulimit -f)"},
                 {addresses == kUnlimited ? kUnlimited : addresses - std::min(mapped, addresses),
                  "the limit of addresses (ulimit -v)"});
}

}  // namespace hoplite::store
