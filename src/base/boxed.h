// Boxed: a value that is mostly absent and then costs one pointer. A value type: copies are deep.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace hoplite {

template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: as optional
  Boxed(std::nullopt_t) {}                                           // NOLINT: as optional
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  void reset() { value_.reset(); }

  // Made if it is absent.
  T& Make() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  // An empty one if it is absent.
  const T& OrEmpty() const {
    static const T empty{};
    return value_ ? *value_ : empty;
  }
  void DropIfEmpty() {
    if (value_ && value_->empty()) value_.reset();
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace hoplite
