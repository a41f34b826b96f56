// OneOrSet: a view of a std::set, or one element or none in place of a set. A value type. The set
// must outlive the view, and the view its iterators.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace hoplite {

template <typename T>
class OneOrSet {
 public:
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    const_iterator() = default;
    explicit const_iterator(const T* one) : one_(one) {}
    explicit const_iterator(typename std::set<T>::const_iterator at) : at_(at) {}

    const T& operator*() const { return one_ != nullptr ? *one_ : *at_; }
    const T* operator->() const { return &**this; }
    const_iterator& operator++() {
      if (one_ != nullptr) {
        one_ = nullptr;
      } else {
        ++at_;
      }
      return *this;
    }
    const_iterator operator++(int) {
      const const_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    const T* one_ = nullptr;
    typename std::set<T>::const_iterator at_;
  };

  OneOrSet() = default;
  explicit OneOrSet(T one) : one_(std::move(one)) {}
  explicit OneOrSet(const std::set<T>& set) : set_(&set) {}

  const_iterator begin() const {
    return set_ != nullptr ? const_iterator(set_->begin())
                           : const_iterator(one_ ? &*one_ : nullptr);
  }
  const_iterator end() const {
    return set_ != nullptr ? const_iterator(set_->end()) : const_iterator();
  }
  const_iterator lower_bound(const T& value) const {
    if (set_ != nullptr) return const_iterator(set_->lower_bound(value));
    return one_ && !(*one_ < value) ? begin() : end();
  }
  bool empty() const { return set_ != nullptr ? set_->empty() : !one_; }

 private:
  const std::set<T>* set_ = nullptr;
  std::optional<T> one_;
};

}  // namespace hoplite
