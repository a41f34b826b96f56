// Disk: one file that takes the bytes of objects beside the segment. The seam that lets a simulation
// have a disk with a rate, a room, errors and silence.
//
// Decides: nothing; where an object lies is DiskSpace's. Is told: bytes to write, to read, and ranges
// that are not needed. Must never: hold up whoever asks, or call back on the thread that asks, before
// the call has returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <hoplite/result.h>

#include "base/time.h"
#include "base/units.h"
#include "store/extent_allocator.h"

namespace hoplite::store {

class Disk {
 public:
  // Once, on a thread of the disk, where it may compute but not wait; never, if the disk never answers
  // or is destroyed before.
  using Done = std::function<void(const Result<void>&)>;

  // Where whole pages begin and end: ranges of the file do.
  static constexpr std::uint64_t kGranule = 4096;
  static constexpr std::uint64_t WholePages(std::uint64_t bytes) {
    return (bytes + kGranule - 1) / kGranule * kGranule;
  }
  // What one write takes: the bytes of one object, or of several, which follow each other in the file,
  // each from a page on, and are so much in all.
  using Pieces = std::vector<std::span<const std::byte>>;
  static constexpr std::uint64_t kMostGathered = 1_MiB;

  virtual ~Disk() = default;
  virtual const std::string& folder() const = 0;
  // The bytes lie on the disk when it is done, as far as the disk says so. They stay as they are until
  // then.
  //   resource_exhausted  the file system is full
  //   unavailable         any other error: in the system's words
  virtual void Write(std::uint64_t at, Pieces pieces, Done done) = 0;
  virtual void Read(std::uint64_t at, std::span<std::byte> into, Done done) = 0;
  // Gives the range back to the file system.
  virtual void Discard(Extent range, Done done) = 0;

  // When bytes last came to the disk, or from it. Any thread.
  virtual Time moved_at() const = 0;
};

// An anonymous file in `folder`, which ends with the process, with two threads that write and two that
// read. Bytes go past the page cache where the file system can do that.
// promised_bytes: how large it may become, and those of other nodes on the same disk.
//   invalid_argument    the folder can't hold such a file, or the disk is not so large: says why
//   resource_exhausted  no descriptor or thread can be made, or the file system is full
//   unavailable         the disk fails
Result<std::shared_ptr<Disk>> OpenDisk(const std::string& folder, std::uint64_t promised_bytes);

}  // namespace hoplite::store
