#include "client/pieces.h"

#include <algorithm>
#include <cstring>

namespace hoplite::client {

Pieces::Pieces(std::span<const std::span<const std::byte>> pieces) {
  pieces_.reserve(pieces.size());
  begins_.reserve(pieces.size());
  for (const auto& piece : pieces) {
    if (piece.empty()) continue;
    pieces_.push_back(piece);
    begins_.push_back(size_);
    size_ += piece.size();
  }
}

void Pieces::CopyTo(std::span<std::byte> to, std::uint64_t begin) const {
  if (to.empty()) return;
  auto at =
      static_cast<std::size_t>(std::ranges::upper_bound(begins_, begin) - begins_.begin()) - 1;
  std::uint64_t inside = begin - begins_[at];
  while (!to.empty()) {
    const auto here = pieces_[at].subspan(inside);
    const std::size_t count = std::min(here.size(), to.size());
    std::memcpy(to.data(), here.data(), count);
    to = to.subspan(count);
    inside = 0;
    ++at;
  }
}

}  // namespace hoplite::client
