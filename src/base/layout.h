// Layout: how an object's bytes are cut into blocks, runs and stripes.
//
//   block   unit of checksum and watermark; on a fixed grid, only the last may be shorter
//   run     a power-of-two number of blocks; what one stripe holds in one piece
//   stripe  s of K is the runs r with r % K == s, so a growing prefix feeds all stripes
//
//   runs     | 0      | 1      | 2      | 3      | 4  |        K = 2, run = 4 blocks
//   blocks   |0 1 2 3 |4 5 6 7 |8 9 ... |        |    |
//   stripe   | 0      | 1      | 0      | 1      | 0  |
//
// The producer computes it once with Layout::For; it then travels with Create and every grant, and
// nobody computes it again (a later release may choose other numbers for new objects, but a
// reduction refuses sources whose layouts differ).
//
// K is 1 below 256 KiB, 16 below 4 MiB, else 64. Several nodes that make an object together (R64)
// make whole stripes of it: with fewer than several times as many as nodes some make more than
// others, and everybody waits for these. From one source all stripes come as one stream in the
// object's order, whatever K is, and a piece ends with its run anyway: more stripes cost marks, 4
// bytes each per copy, and no frames. Below 256 KiB there are not enough runs.
//
// A frame carries at most one run, and costs as much as 16 KiB do. Below 64 MiB runs have 64 KiB
// where all stripes are equally long then (and, if they are more than 16, have four each), else 16
// or 32 KiB; from there on 64 KiB to 1 MiB.
#pragma once

#include <cstdint>

#include <hoplite/result.h>

#include "base/stripe_marks.h"

namespace hoplite {

// Bit s set: stripe s is in the set. K <= 64.
using StripeMask = std::uint64_t;
inline constexpr std::uint32_t kMaxStripes = 64;

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  constexpr std::uint64_t size() const { return end - begin; }
  friend constexpr bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct Layout {
  std::uint64_t size_bytes = 0;
  std::uint32_t block_bytes = 0;
  std::uint32_t run_bytes = 0;
  std::uint32_t stripe_count = 0;

  // The rule for new objects; stripe_count = 0 lets the size decide.
  static Layout For(std::uint64_t size_bytes, std::uint32_t stripe_count = 0);
  // For layouts that came over a wire: every number in range and consistent.
  Result<void> Validate() const;

  std::uint64_t block_count() const;
  std::uint32_t blocks_per_run() const { return run_bytes / block_bytes; }
  StripeMask all_stripes() const;
  StripeMarks empty_marks() const { return StripeMarks(stripe_count, 0); }
  StripeMarks full_marks() const;

  std::uint32_t stripe_of(std::uint64_t block) const;
  // Blocks in one stripe.
  std::uint32_t stripe_block_count(std::uint32_t stripe) const;
  // The i-th block of a stripe, as an index into the object, and back.
  std::uint64_t block_at(std::uint32_t stripe, std::uint32_t index) const;
  std::uint32_t index_in_stripe(std::uint64_t block) const;
  ByteRange block_range(std::uint64_t block) const;
  // The bytes of blocks [index, index + n) of a stripe, where n is at most the rest of index's run
  // and at most `limit`: one contiguous piece.
  ByteRange piece(std::uint32_t stripe, std::uint32_t index, std::uint32_t limit) const;

  // Marks of a copy whose bytes [0, prefix) are valid (a block counts only when whole).
  StripeMarks marks_of_prefix(std::uint64_t prefix_bytes) const;
  // Bytes [0, result) are valid.
  std::uint64_t contiguous_prefix(const StripeMarks& marks) const;
  // Valid bytes in total.
  std::uint64_t valid_bytes(const StripeMarks& marks) const;
  bool complete(const StripeMarks& marks) const;
  // The stripes that they don't fill; all, if they are not of this layout.
  StripeMask missing(const StripeMarks& marks) const;
  // Whether marks has one entry per stripe, none beyond its stripe's end.
  bool valid(const StripeMarks& marks) const;

  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace hoplite
