#include "store/extent_allocator.h"

#include <iterator>

#include "base/check.h"

namespace hoplite::store {
namespace {

constexpr std::uint64_t RoundUp(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr std::uint64_t WholeGranules(std::uint64_t bytes) {
  return bytes / ExtentAllocator::kGranule * ExtentAllocator::kGranule;
}

}  // namespace

ExtentAllocator::ExtentAllocator(std::uint64_t capacity, std::uint64_t usable)
    : capacity_(WholeGranules(capacity)), usable_(WholeGranules(usable)) {
  AddHole({0, usable_});
}

void ExtentAllocator::Extend(std::uint64_t usable) {
  const Extent more{usable_, WholeGranules(usable) - usable_};
  usable_ = more.end();
  MakeHole(more);
}

bool ExtentAllocator::FitsEver(std::uint64_t bytes) const {
  return bytes <= capacity_;  // capacity_ is whole granules, so rounding up cannot pass it
}

std::uint64_t ExtentAllocator::largest_hole() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

std::optional<Extent> ExtentAllocator::Place(std::uint64_t size, std::uint64_t alignment) const {
  // The smallest hole that fits may be aligned by chance; the smallest one with room to shift
  // always serves.
  for (const std::uint64_t hole_size : {size, size + alignment - kGranule}) {
    const auto hole = by_size_.lower_bound({hole_size, 0});
    if (hole == by_size_.end()) return std::nullopt;
    const std::uint64_t offset = RoundUp(hole->second, alignment);
    if (offset + size <= hole->second + hole->first) return Extent{offset, size};
  }
  return std::nullopt;
}

Extent ExtentAllocator::Taken(std::uint64_t offset, std::uint64_t bytes) {
  return bytes == 0 ? Extent{} : Extent{offset, RoundUp(bytes, kGranule)};
}

std::optional<Extent> ExtentAllocator::Allocate(std::uint64_t bytes) {
  if (!FitsEver(bytes)) return std::nullopt;
  const std::uint64_t size = RoundUp(bytes, kGranule);
  if (size == 0) return Extent{};
  std::optional<Extent> place;
  if (size >= kPageAlignedFrom) place = Place(size, kPage);
  if (!place) place = Place(size, kGranule);
  if (!place) return std::nullopt;
  return Take(*place);
}

std::optional<Extent> ExtentAllocator::AllocateAtEnd(std::uint64_t bytes) {
  if (bytes == 0 || !FitsEver(bytes) || holes_.empty()) return std::nullopt;
  const std::uint64_t size = RoundUp(bytes, kGranule);
  const auto [offset, hole_size] = *holes_.rbegin();
  if (hole_size < size) return std::nullopt;
  return Take({offset + hole_size - size, size});
}

// It lies in one hole.
Extent ExtentAllocator::Take(Extent place) {
  const Extent hole = HoleAt(place.offset);
  EraseHole(hole);
  AddHole({hole.offset, place.offset - hole.offset});
  AddHole({place.end(), hole.end() - place.end()});
  used_bytes_ += place.size;
  return place;
}

Extent ExtentAllocator::HoleAfterFree(Extent extent) const {
  Extent joined = extent;
  const auto next = holes_.lower_bound(extent.offset);
  if (next != holes_.end()) {
    HOPLITE_CHECK(next->first >= extent.end(), "an extent is freed once");
    if (next->first == extent.end()) joined.size += next->second;
  }
  if (next != holes_.begin()) {
    const auto [offset, size] = *std::prev(next);
    HOPLITE_CHECK(offset + size <= extent.offset, "an extent is freed once");
    if (offset + size == extent.offset) joined = {offset, size + joined.size};
  }
  return joined;
}

void ExtentAllocator::Free(Extent extent) {
  MakeHole(extent);
  used_bytes_ -= extent.size;
}

// Joined with the holes beside it.
void ExtentAllocator::MakeHole(Extent extent) {
  if (extent.size == 0) return;
  const Extent joined = HoleAfterFree(extent);
  EraseHole({joined.offset, extent.offset - joined.offset});
  EraseHole({extent.end(), joined.end() - extent.end()});
  AddHole(joined);
}

Extent ExtentAllocator::HoleAt(std::uint64_t offset) const {
  const auto [begin, size] = *std::prev(holes_.upper_bound(offset));
  return {begin, size};
}

void ExtentAllocator::AddHole(Extent hole) {
  if (hole.size == 0) return;
  holes_.emplace(hole.offset, hole.size);
  by_size_.emplace(hole.size, hole.offset);
}

void ExtentAllocator::EraseHole(Extent hole) {
  if (hole.size == 0) return;
  holes_.erase(hole.offset);
  by_size_.erase({hole.size, hole.offset});
}

}  // namespace hoplite::store
