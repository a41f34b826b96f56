// SegmentMap: the node's memory as this process sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <hoplite/result.h>

namespace hoplite::client {

// A mapping of the node's descriptor, or the node's own mapping. Forked children see what can be
// read, since they keep pins (R60), but no mapping for writing. Constant once made.
class SegmentMap {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };

  SegmentMap() = default;  // nothing mapped
  // Takes the descriptor; closes it, if it is not for reading: that mapping doesn't need it.
  static Result<SegmentMap> Map(int descriptor, Access access);
  // In the node's process. `owner` keeps the memory and the descriptor of it, which is for reading.
  static SegmentMap Of(std::span<std::byte> bytes, int descriptor, std::shared_ptr<void> owner);

  bool mapped() const { return !bytes_.empty(); }
  // protocol: not inside the segment. A mapping for reading faults at the first write.
  Result<std::span<std::byte>> Range(std::uint64_t offset, std::uint64_t size) const;

  struct PrivateRange {
    std::span<std::byte> bytes;
    std::shared_ptr<void> pages;  // unmaps them
  };
  // These bytes, of a Range, once more: what is written there is nobody else's. In whole pages, so
  // bytes of others lie around them.
  Result<PrivateRange> MapPrivate(std::span<const std::byte> range) const;

  // In a forked child, before it does anything else: the node's own mapping is not inherited; the
  // same bytes are mapped at its place, to be read.
  void ReappearInChild() const;

 private:
  SegmentMap(std::span<std::byte> bytes, int descriptor, std::shared_ptr<void> owner);

  std::span<std::byte> bytes_;
  int descriptor_ = -1;          // for reading; -1: none
  std::shared_ptr<void> owner_;  // unmaps and closes, or is the node's
};

}  // namespace hoplite::client
