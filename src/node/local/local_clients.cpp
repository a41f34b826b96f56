#include "node/local/local_clients.h"

#include <functional>
#include <vector>

#include <fmt/format.h>

namespace hoplite::node {
namespace {

constexpr std::size_t kNamed = 3;

struct Kept {
  std::uint64_t bytes;
  pid_t pid;
};

// "12 bytes (pid 77), 4 bytes (2 others)"
std::string MostInWords(std::vector<Kept> all) {
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
  std::vector<Kept> kept;
  std::vector<Kept> put;
  for (const auto& process : processes_) {
    const auto known = process.lock();
    if (!known) continue;
    const Holdings::Use use = known->use();
    if (use.pinned_bytes > 0) kept.push_back({.bytes = use.pinned_bytes, .pid = known->pid()});
    const std::uint64_t rest = use.bytes - use.pinned_bytes;
    if (rest > 0) put.push_back({.bytes = rest, .pid = known->pid()});
  }
  std::string words = kept.empty() ? "" : "clients keep: " + MostInWords(std::move(kept));
  if (!put.empty()) {
    if (!words.empty()) words += "; ";
    words += "clients have put: " + MostInWords(std::move(put));
  }
  return words;
}

}  // namespace hoplite::node
