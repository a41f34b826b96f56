// DiskSpace: where on a disk objects lie, within a limit.
//
// Decides: the place of an object, by the allocator that places objects in memory. Must never: give a
// range out again before the disk has discarded it: the one would punch a hole into the other.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/disk.h"
#include "store/extent_allocator.h"

namespace hoplite::store {

class DiskSpace : public std::enable_shared_from_this<DiskSpace> {
 public:
  // on_room: a range came back; on a thread of the disk: only wake somebody.
  DiskSpace(std::shared_ptr<Disk> disk, std::uint64_t limit_bytes, std::function<void()> on_room);
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;
  // Afterwards on_room is not called any more; places stay valid.
  void ForgetOnRoom();

  // The range of one object; it comes back when this is destroyed, by any thread.
  class Place {
   public:
    Place(std::shared_ptr<DiskSpace> space, Extent extent)
        : space_(std::move(space)), extent_(extent) {}
    ~Place() { space_->Free(extent_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    std::uint64_t offset() const { return extent_.offset; }
    Disk& disk() const { return *space_->disk_; }

   private:
    const std::shared_ptr<DiskSpace> space_;
    const Extent extent_;
  };

  using PlacePtr = std::shared_ptr<const Place>;
  // Null: there is no such room now.
  PlacePtr Reserve(std::uint64_t bytes);
  // For objects of these sizes, one behind the other; none: there is no such room now.
  std::vector<PlacePtr> Reserve(std::span<const std::uint64_t> sizes);

  const std::string& folder() const { return disk_->folder(); }
  Time moved_at() const { return disk_->moved_at(); }
  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t used_bytes();  // what is being discarded included

 private:
  void Free(Extent extent);
  void Freed(Extent extent);

  const std::shared_ptr<Disk> disk_;
  const std::uint64_t limit_bytes_;
  Mutex mutex_;
  ExtentAllocator allocator_ HOPLITE_GUARDED_BY(mutex_);
  std::function<void()> on_room_ HOPLITE_GUARDED_BY(mutex_);
};

}  // namespace hoplite::store
