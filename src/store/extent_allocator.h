// ExtentAllocator: which ranges of the segment are free.
//
// Decides: where an object lies. Best fit, the lowest address among equals: holes that were used
// before (and so have their pages) are filled before the untouched tail is cut. Is told: sizes, and
// extents that come back, and how much of the segment may be used by now. Must never: give out overlapping extents, or keep its books in the
// segment, which worker processes map writable to fill their puts: a stray write there may spoil
// an object, never the allocator of the node. Every call is O(log n) in the free extents. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hoplite::store {

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  constexpr std::uint64_t end() const { return offset + size; }
  friend constexpr bool operator==(const Extent&, const Extent&) = default;
};

class ExtentAllocator {
 public:
  // The extent that an allocation of `bytes` at `offset` takes.
  static Extent Taken(std::uint64_t offset, std::uint64_t bytes);

  static constexpr std::uint64_t kGranule = 64;  // a cache line: no two objects share one
  static constexpr std::uint64_t kPage = 4096;
  // Objects from here on begin on a page, so that sendfile passes whole pages; only when no hole
  // allows that they begin on a granule.
  static constexpr std::uint64_t kPageAlignedFrom = std::uint64_t{1} << 20;

  // Of `capacity` bytes only the first `usable` may be given out at first.
  ExtentAllocator(std::uint64_t capacity, std::uint64_t usable);
  explicit ExtentAllocator(std::uint64_t capacity) : ExtentAllocator(capacity, capacity) {}

  // More may be given out from now on: the first `usable` bytes.
  void Extend(std::uint64_t usable);
  // There will be no more than that.
  void EndHere() { capacity_ = usable_; }

  // At least `bytes` (rounded up to whole granules), or nothing if no hole is large enough.
  std::optional<Extent> Allocate(std::uint64_t bytes);
  // At the end of the last hole, or nothing if that one is too small: for what goes again soon, so
  // that it leaves no hole between objects.
  std::optional<Extent> AllocateAtEnd(std::uint64_t bytes);
  void Free(Extent extent);  // one that these gave, or whole granules of it

  // The hole that freeing this allocated extent would make.
  Extent HoleAfterFree(Extent extent) const;
  bool FitsEver(std::uint64_t bytes) const;
  std::uint64_t largest_hole() const;
  // Whole granules: what is left beyond the last one is given to nobody.
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used_bytes() const { return used_bytes_; }
  std::uint64_t free_bytes() const { return usable_ - used_bytes_; }
  std::uint64_t not_yet_usable() const { return capacity_ - usable_; }

 private:
  using Holes = std::map<std::uint64_t, std::uint64_t>;  // offset -> size

  std::optional<Extent> Place(std::uint64_t size, std::uint64_t alignment) const;
  Extent Take(Extent place);
  void MakeHole(Extent extent);
  void AddHole(Extent hole);
  void EraseHole(Extent hole);
  Extent HoleAt(std::uint64_t offset) const;  // the hole that contains it

  std::uint64_t capacity_;
  std::uint64_t usable_;
  std::uint64_t used_bytes_ = 0;
  Holes holes_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;  // (size, offset) of the same holes
};

}  // namespace hoplite::store
