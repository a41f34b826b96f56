#include "base/threads.h"

#include <latch>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/exhaustion.h"

namespace hoplite {

// Starts them instead of counting: limits of the user, of a container and of the machine bind.
Result<void> RequireThreads(std::size_t count, const std::string& who) {
  std::latch all_tried(1);
  std::vector<std::jthread> started;
  started.reserve(count);
  Result<void> enough;
  while (started.size() < count && enough) {
    auto thread = StartThread<std::jthread>([&all_tried] { all_tried.wait(); });
    if (thread) {
      started.push_back(*std::move(thread));
    } else {
      enough = std::unexpected(Error(
          ErrorCode::kResourceExhausted,
          fmt::format("{} needs {} threads, {} can be started: {} (ulimit -u, or the limit of "
                      "processes of a container)",
                      who, count, started.size(), thread.error().message)));
    }
  }
  all_tried.count_down();
  return enough;
}

}  // namespace hoplite
