#include "node/local/local_clients.h"

#include <functional>
#include <vector>

#include <fmt/format.h>

namespace hoplite::node {
namespace {

constexpr std::size_t kNamed = 3;

}  // namespace

// Those of a process whose clients are all gone are not found: the next one with its number begins
// anew.
std::shared_ptr<Holdings> LocalClients::HoldingsOf(pid_t pid) {
  std::erase_if(processes_, [](const auto& process) { return process.expired(); });
  for (const auto& process : processes_) {
    const auto known = process.lock();
    if (pid != 0 && known && known->pid() == pid) return known;
  }
  auto made = std::make_shared<Holdings>(pid, limits_.quota);
  processes_.push_back(made);
  return made;
}

Holdings::Use LocalClients::most_held() const {
  Holdings::Use most;
  for (const auto& process : processes_) {
    const auto known = process.lock();
    if (!known) continue;
    const Holdings::Use use = known->use();
    most.bytes = std::max(most.bytes, use.bytes);
    most.objects = std::max(most.objects, use.objects);
    most.pinned_bytes = std::max(most.pinned_bytes, use.pinned_bytes);
  }
  return most;
}

std::string LocalClients::KeptInWords() const {
  struct Kept {
    std::uint64_t bytes;
    pid_t pid;
  };
  std::vector<Kept> all;
  for (const auto& process : processes_) {
    const auto known = process.lock();
    const std::uint64_t bytes = known ? known->use().pinned_bytes : 0;
    if (bytes > 0) all.push_back({.bytes = bytes, .pid = known->pid()});
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
