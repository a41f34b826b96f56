#include "store/disk_space.h"

#include <optional>

namespace hoplite::store {

DiskSpace::DiskSpace(std::shared_ptr<Disk> disk, std::uint64_t limit_bytes,
                     std::function<void()> on_room)
    : disk_(std::move(disk)),
      limit_bytes_(limit_bytes / Disk::kGranule * Disk::kGranule),
      allocator_(limit_bytes_),
      on_room_(std::move(on_room)) {}

void DiskSpace::ForgetOnRoom() {
  const MutexLock lock(mutex_);
  on_room_ = nullptr;
}

DiskSpace::PlacePtr DiskSpace::Reserve(std::uint64_t bytes) {
  const std::vector<PlacePtr> places = Reserve(std::span(&bytes, 1));
  return places.empty() ? nullptr : places.front();
}

// All ranges are whole pages, so all holes are, and all begin on one.
std::vector<DiskSpace::PlacePtr> DiskSpace::Reserve(std::span<const std::uint64_t> sizes) {
  std::uint64_t all = 0;
  for (const std::uint64_t size : sizes) all += Disk::WholePages(size);
  std::optional<Extent> extent;
  {
    const MutexLock lock(mutex_);
    extent = allocator_.Allocate(all);
  }
  std::vector<PlacePtr> places;
  if (!extent) return places;
  std::uint64_t at = extent->offset;
  for (const std::uint64_t size : sizes) {
    const Extent own{at, Disk::WholePages(size)};
    places.push_back(std::make_shared<const Place>(shared_from_this(), own));
    at = own.end();
  }
  return places;
}

std::uint64_t DiskSpace::used_bytes() {
  const MutexLock lock(mutex_);
  return allocator_.used_bytes();
}

// What could not be discarded is written over.
void DiskSpace::Free(Extent extent) {
  disk_->Discard(extent,
                 [self = shared_from_this(), extent](const Result<void>&) { self->Freed(extent); });
}

void DiskSpace::Freed(Extent extent) {
  const MutexLock lock(mutex_);
  allocator_.Free(extent);
  if (on_room_) on_room_();
}

}  // namespace hoplite::store
