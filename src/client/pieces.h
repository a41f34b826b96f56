// Pieces: bytes that lie in several places, in order, as if they lay in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hoplite::client {

// Constant; whose the bytes are keeps them.
class Pieces {
 public:
  explicit Pieces(std::span<const std::byte> whole) : Pieces(std::span(&whole, 1)) {}
  explicit Pieces(std::span<const std::span<const std::byte>> pieces);

  std::uint64_t size() const { return size_; }
  // The bytes from `begin` on that fill `to`.
  void CopyTo(std::span<std::byte> to, std::uint64_t begin) const;

 private:
  std::vector<std::span<const std::byte>> pieces_;  // none is empty
  std::vector<std::uint64_t> begins_;               // of each
  std::uint64_t size_ = 0;
};

}  // namespace hoplite::client
