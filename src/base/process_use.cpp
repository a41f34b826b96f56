#include "base/process_use.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hoplite {
namespace {

std::uint64_t ResidentBytes() {
  std::uint64_t all_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// From Linux 6.2 on the folder's size is their number, and need not be listed.
std::uint64_t OpenDescriptors() {
  constexpr const char* kFolder = "/proc/self/fd";
  struct stat folder{};
  if (::stat(kFolder, &folder) == 0 && folder.st_size > 0) {
    return static_cast<std::uint64_t>(folder.st_size);
  }
  std::error_code unreadable;
  const std::filesystem::directory_iterator open(kFolder, unreadable);
  return unreadable ? 0 : static_cast<std::uint64_t>(std::distance(begin(open), end(open)));
}

Duration ToDuration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

ProcessUse OwnProcessUse() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  return {.version = HOPLITE_VERSION,
          .resident_bytes = ResidentBytes(),
          .descriptors = OpenDescriptors(),
          .descriptor_limit = descriptors.rlim_cur,
          .processor_time = ToDuration(used.ru_utime) + ToDuration(used.ru_stime)};
}

}  // namespace hoplite
