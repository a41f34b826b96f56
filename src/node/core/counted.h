// Counted: while it lives, so many more.
#pragma once

#include <cstddef>

namespace hoplite::node {

template <typename Sum = std::size_t>
class Counted {
 public:
  Counted(Sum& sum, std::size_t count) : sum_(sum), count_(count) { sum_ += count_; }
  ~Counted() { sum_ -= count_; }
  std::size_t count() const { return count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Sum& sum_;
  const std::size_t count_;
};

}  // namespace hoplite::node
