// Arrays: numbers for the demo's reductions, made of the bytes of its file. Each array is made of
// another part; a number is the value of one byte as float32, so that sums are exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <hoplite/result.h>

#include "cli/demo/subject.h"

namespace hoplite::cli::demo {

class Arrays {
 public:
  // So large that one of them takes about a second over one link.
  static Result<Arrays> Of(const Subject& subject, std::size_t count);

  std::size_t length() const { return length_; }
  std::uint64_t size_bytes() const { return length_ * sizeof(float); }
  // Array number `index`.
  std::vector<float> At(std::size_t index) const;
  // The plain sum of these arrays, number by number.
  std::vector<float> SumOf(std::span<const std::size_t> indices) const;

 private:
  Arrays(std::shared_ptr<const std::byte> file, std::size_t length);

  std::shared_ptr<const std::byte> file_;  // its bytes
  std::size_t length_;
};

}  // namespace hoplite::cli::demo
