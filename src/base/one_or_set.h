// OneOrSet: a std::set for sets that mostly have one element, which then lies in the set itself. A
// value type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>

#include "base/boxed.h"

namespace hoplite {

template <typename T>
class OneOrSet {
 public:
  // Of the element itself, or in the set.
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

  const_iterator begin() const {
    return more_ ? const_iterator(more_->begin()) : const_iterator(one_ ? &*one_ : nullptr);
  }
  const_iterator end() const { return more_ ? const_iterator(more_->end()) : const_iterator(); }
  const_iterator lower_bound(const T& value) const {
    if (more_) return const_iterator(more_->lower_bound(value));
    return one_ && !(*one_ < value) ? begin() : end();
  }
  bool empty() const { return more_ ? more_->empty() : !one_; }

  void insert(const T& value) {
    if (!more_ && (!one_ || *one_ == value)) {
      one_ = value;
      return;
    }
    if (!more_) more_.Make().insert(*one_);
    one_.reset();
    more_->insert(value);
  }
  void erase(const T& value) {
    if (more_) {
      more_->erase(value);
    } else if (one_ && *one_ == value) {
      one_.reset();
    }
  }
  // Gives back what it does not need.
  void Shrink() {
    if (!more_ || more_->size() > 1) return;
    if (!more_->empty()) one_ = *more_->begin();
    more_.reset();
  }

  friend bool operator==(const OneOrSet& a, const OneOrSet& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::optional<T> one_;  // only while there is no set
  Boxed<std::set<T>> more_;
};

}  // namespace hoplite
