// SmallSet: an ordered set of few small values. A single value lies in the set itself. Several lie
// sorted in one block, where an insertion moves all values behind its place. A value type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace hoplite {

template <typename T>
  requires std::is_trivially_copyable_v<T>
class SmallSet {
 public:
  using value_type = T;
  using const_iterator = const T*;

  SmallSet() = default;
  SmallSet(const SmallSet& other) { *this = other; }
  SmallSet(SmallSet&& other) noexcept { Swap(other); }
  SmallSet& operator=(const SmallSet& other) {
    if (this == &other) return *this;
    clear();
    Reserve(other.size_);
    std::copy(other.begin(), other.end(), data());
    size_ = other.size_;
    return *this;
  }
  SmallSet& operator=(SmallSet&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~SmallSet() { clear(); }

  const T* begin() const { return capacity_ == 1 ? &one_ : many_; }
  const T* end() const { return begin() + size_; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  bool contains(const T& value) const { return std::binary_search(begin(), end(), value); }

  void insert(const T& value) {
    const T* const place = std::lower_bound(begin(), end(), value);
    if (place != end() && *place == value) return;
    const auto at = place - begin();
    if (size_ == capacity_) Reserve(2 * capacity_);
    std::copy_backward(data() + at, data() + size_, data() + size_ + 1);
    data()[at] = value;
    ++size_;
  }
  std::size_t erase(const T& value) {
    const T* const place = std::lower_bound(begin(), end(), value);
    if (place == end() || *place != value) return 0;
    T* const at = data() + (place - begin());
    std::copy(at + 1, data() + size_, at);
    if (--size_ == 0) clear();
    return 1;
  }
  void clear() {
    if (capacity_ != 1) delete[] many_;
    one_ = T{};
    size_ = 0;
    capacity_ = 1;
  }

  friend bool operator==(const SmallSet& a, const SmallSet& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  T* data() { return capacity_ == 1 ? &one_ : many_; }
  void Reserve(std::uint32_t capacity) {
    if (capacity <= capacity_) return;
    T* const block = new T[capacity];
    std::copy(begin(), end(), block);
    if (capacity_ != 1) delete[] many_;
    many_ = block;
    capacity_ = capacity;
  }
  void Swap(SmallSet& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  union {
    T one_{};  // while capacity_ is 1
    T* many_;
    unsigned char bytes_[std::max(sizeof(T), sizeof(T*))];
  };
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 1;
};

}  // namespace hoplite
