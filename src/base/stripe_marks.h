// StripeMarks: per stripe the number of its blocks that are valid, counted from its first: the
// watermark. Index = stripe. Only grows for a given copy.
//
// Most objects have one stripe or two: their marks lie in the value itself. A value type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace hoplite {

class StripeMarks {
 public:
  using value_type = std::uint32_t;
  using iterator = std::uint32_t*;
  using const_iterator = const std::uint32_t*;

  StripeMarks() = default;
  explicit StripeMarks(std::size_t stripes, std::uint32_t each = 0) {
    Reserve(stripes);
    std::fill(begin(), end(), each);
  }
  template <std::forward_iterator Iterator>
  StripeMarks(Iterator from, Iterator to) {
    Reserve(static_cast<std::size_t>(std::distance(from, to)));
    std::copy(from, to, begin());
  }
  StripeMarks(std::initializer_list<std::uint32_t> marks)
      : StripeMarks(marks.begin(), marks.end()) {}
  StripeMarks(const StripeMarks& other) : StripeMarks(other.begin(), other.end()) {}
  StripeMarks(StripeMarks&& other) noexcept { Swap(other); }
  StripeMarks& operator=(const StripeMarks& other) {
    if (size_ == other.size_) {
      std::copy(other.begin(), other.end(), begin());
    } else {
      *this = StripeMarks(other);
    }
    return *this;
  }
  StripeMarks& operator=(StripeMarks&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~StripeMarks() {
    if (size_ > kFew) delete[] many_;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return size_ > kFew ? many_ : few_; }
  iterator end() { return begin() + size_; }
  const_iterator begin() const { return size_ > kFew ? many_ : few_; }
  const_iterator end() const { return begin() + size_; }
  std::uint32_t& operator[](std::size_t stripe) { return begin()[stripe]; }
  std::uint32_t operator[](std::size_t stripe) const { return begin()[stripe]; }

  friend bool operator==(const StripeMarks& a, const StripeMarks& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr std::size_t kFew = 2;  // as many as a pointer has room for

  // Must be empty.
  void Reserve(std::size_t stripes) {
    if (stripes > kFew) many_ = new std::uint32_t[stripes];
    size_ = static_cast<std::uint32_t>(stripes);
  }
  void Swap(StripeMarks& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
  }

  union {
    std::uint32_t few_[kFew] = {};
    std::uint32_t* many_;
    unsigned char bytes_[sizeof(std::uint32_t*)];
  };
  std::uint32_t size_ = 0;
};

}  // namespace hoplite
