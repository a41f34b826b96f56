// PagedSet: an ordered set of very many small values, sorted in pages. An element costs little
// more than its own size, a change O(log n) and a part of one page. A value type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace hoplite {

template <typename T>
class PagedSet {
 public:
  bool empty() const { return first_.empty(); }
  std::size_t size() const { return size_; }
  const T& front() const { return first_.front(); }
  template <typename Visit>
  void ForEach(Visit visit) const {
    std::ranges::for_each(first_, visit);
    for (const auto& [least, page] : later_) std::ranges::for_each(page, visit);
  }

  bool contains(const T& value) const {
    const auto after = later_.upper_bound(value);
    const Page& page = after == later_.begin() ? first_ : std::prev(after)->second;
    return std::ranges::binary_search(page, value);
  }

  void insert(const T& value) {
    const auto after = later_.upper_bound(value);
    Page& page = after == later_.begin() ? first_ : std::prev(after)->second;
    const auto at = std::ranges::lower_bound(page, value) - page.begin();
    if (at < std::ssize(page) && page[static_cast<std::size_t>(at)] == value) return;
    if (page.size() == page.capacity()) page.reserve(page.size() + Spare(page.size()));
    page.insert(page.begin() + at, value);
    ++size_;
    if (page.size() == kMost) Split(page, after);
  }

  std::size_t erase(const T& value) {
    const auto after = later_.upper_bound(value);
    Page& page = after == later_.begin() ? first_ : std::prev(after)->second;
    const auto place = std::ranges::lower_bound(page, value);
    if (place == page.end() || *place != value) return 0;
    page.erase(place);
    --size_;
    if (after != later_.end() && page.size() + after->second.size() < kMost / 2) {
      page.insert(page.end(), after->second.begin(), after->second.end());
      later_.erase(after);
    } else if (page.empty()) {
      DropEmpty(after);
    }
    return 1;
  }

 private:
  static constexpr std::size_t kMost = 64;
  using Page = std::vector<T>;
  using Pages = std::map<T, Page>;

  // By how many elements a full page grows.
  static std::size_t Spare(std::size_t size) { return std::clamp<std::size_t>(size, 1, kMost / 8); }

  void Split(Page& page, typename Pages::iterator after) {
    const auto middle = page.begin() + kMost / 2;
    later_.emplace_hint(after, *middle, Page(middle, page.end()));
    page.erase(middle, page.end());
    page.shrink_to_fit();
  }

  // Drops the page before `after`, which is empty.
  void DropEmpty(typename Pages::iterator after) {
    if (after != later_.begin()) {
      later_.erase(std::prev(after));
    } else if (after != later_.end()) {
      first_ = std::move(after->second);
      later_.erase(after);
    }
  }

  Page first_;   // empty only if the whole set is
  Pages later_;  // each under a value not greater than any in it; none is empty
  std::size_t size_ = 0;
};

}  // namespace hoplite
