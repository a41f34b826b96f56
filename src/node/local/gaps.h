// Gaps: what is left of a range of which pieces are taken. Both steps take time by the logarithm of
// their number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace hoplite::node {

class Gaps {
 public:
  explicit Gaps(std::uint64_t size) { Add(0, size); }

  // Also what is taken already, or in part, or empty: an object of no bytes parts no gap.
  void Take(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto gap = ends_.upper_bound(begin);
    if (gap != ends_.begin() && std::prev(gap)->second > begin) --gap;
    while (gap != ends_.end() && gap->first < end) {
      const auto [from, to] = *gap;
      sizes_.erase(sizes_.find(to - from));
      gap = ends_.erase(gap);
      Add(from, std::min(to, begin));
      Add(std::max(from, end), to);
    }
  }
  std::uint64_t largest() const { return sizes_.empty() ? 0 : *sizes_.rbegin(); }

 private:
  void Add(std::uint64_t from, std::uint64_t to) {
    if (from >= to) return;
    ends_.emplace(from, to);
    sizes_.insert(to - from);
  }

  std::map<std::uint64_t, std::uint64_t> ends_;  // by where they begin
  std::multiset<std::uint64_t> sizes_;
};

}  // namespace hoplite::node
