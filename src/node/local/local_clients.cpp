#include "node/local/local_clients.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <sstream>
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

// When the process began, in the machine's ticks; 0: not known, or there is none.
std::uint64_t ProcessBegin(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (pid <= 0 || !std::getline(file, line)) return 0;
  // Its name, which may hold anything, ends with the last bracket; the rest are numbers.
  std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  constexpr int kBegin = 20;
  std::string word;
  for (int place = 0; place < kBegin; ++place) rest >> word;
  std::uint64_t began = 0;
  return std::from_chars(word.data(), word.data() + word.size(), began).ec == std::errc() ? began
                                                                                          : 0;
}

// It has no client, and holds nothing or has ended.
bool IsGone(const std::shared_ptr<Holdings>& known) {
  if (known.use_count() > 1) return false;
  return known->use().objects == 0 || known->began() == 0 ||
         ProcessBegin(known->pid()) != known->began();
}

}  // namespace

// A process that connects again goes on with what it holds; the next one with its number begins anew.
std::shared_ptr<Holdings> LocalClients::HoldingsOf(pid_t pid) {
  if (processes_.size() >= look_at_) ForgetProcesses();
  const std::uint64_t began = ProcessBegin(pid);
  for (const auto& known : processes_) {
    if (pid != 0 && known->pid() == pid && known->began() == began) return known;
  }
  auto made = std::make_shared<Holdings>(pid, began, limits_.quota);
  processes_.push_back(made);
  return made;
}

void LocalClients::ForgetProcesses() {
  std::erase_if(processes_, IsGone);
  look_at_ = std::max(kFewProcesses, 2 * processes_.size());
}

Holdings::Use LocalClients::most_held() const {
  Holdings::Use most;
  for (const auto& known : processes_) {
    if (IsGone(known)) continue;
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
  for (const auto& known : processes_) {
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
