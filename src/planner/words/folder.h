// Folder: how the bytes of a reduction's sources become those of its target.
//
// Decides: which of them are elements (Fold::folded_bytes). These are folded; what lies behind is the
// same in all sources, and is taken from one. A value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/reduce_event.h"

namespace hoplite::planner {

class Folder {
 public:
  explicit Folder(const protocol::Fold& fold) : fold_(fold) {}

  // out = a op b: the bytes of three objects from `begin` on, as many of each. `begin` and the end are
  // between elements. `out` may be the same memory as `a`.
  void Fold(std::uint64_t begin, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b) const;
  // All sources are folded into these bytes of the target: a mean is divided. Once for each byte.
  void Finish(std::uint64_t begin, std::span<std::byte> bytes) const;

 private:
  std::size_t ElementBytes(std::uint64_t begin, std::size_t size) const;

  const protocol::Fold fold_;
};

}  // namespace hoplite::planner
