#include "store/disk_space.h"

#include <optional>

namespace hoplite::store {
namespace {

// All ranges are whole pages, so all holes are, and all begin on one.
constexpr std::uint64_t Pages(std::uint64_t bytes) {
  return (bytes + Disk::kGranule - 1) / Disk::kGranule * Disk::kGranule;
}

}  // namespace

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

std::shared_ptr<const DiskSpace::Place> DiskSpace::Reserve(std::uint64_t bytes) {
  std::optional<Extent> extent;
  {
    const MutexLock lock(mutex_);
    extent = allocator_.Allocate(Pages(bytes));
  }
  return extent ? std::make_shared<const Place>(shared_from_this(), *extent) : nullptr;
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
