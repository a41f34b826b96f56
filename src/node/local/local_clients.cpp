#include "node/local/local_clients.h"

#include <functional>
#include <vector>

#include <fmt/format.h>

namespace hoplite::node {
namespace {

constexpr std::size_t kNamed = 3;

}  // namespace

std::string LocalClients::KeptInWords() const {
  std::vector<Kept> all;
  for (const Member* member : members_) {
    if (const Kept kept = member->kept(); kept.bytes > 0) all.push_back(kept);
  }
  std::ranges::sort(all, std::greater(), &Kept::bytes);
  std::string words;
  std::uint64_t others_bytes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= kNamed) {
      others_bytes += all[i].bytes;
      continue;
    }
    const std::string who =
        all[i].pid == 0 ? "a process of another container" : fmt::format("pid {}", all[i].pid);
    words += fmt::format("{}{} bytes ({})", words.empty() ? "" : ", ", all[i].bytes, who);
  }
  if (all.size() > kNamed) {
    words += fmt::format(", {} bytes ({} others)", others_bytes, all.size() - kNamed);
  }
  return words;
}

}  // namespace hoplite::node
