#include "base/descriptors.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace hoplite {

// Opens them instead of counting: the process's limit is not the only one, and counting needs a
// descriptor as well.
Result<void> RequireDescriptors(std::size_t count, const std::string& who) {
  std::vector<int> opened;
  int error = 0;
  while (opened.size() < count && error == 0) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      error = errno;
    } else {
      opened.push_back(fd);
    }
  }
  for (const int fd : opened) ::close(fd);
  if (error == 0) return {};
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted,
            fmt::format("{} needs {} descriptors, {} are left: {} (ulimit -n, prlimit --nofile)",
                        who, count, opened.size(), std::strerror(error))));
}

}  // namespace hoplite
