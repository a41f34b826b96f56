// SegmentMap: the node's memory as this process sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <hoplite/result.h>

namespace hoplite::client {

// A mapping of the node's descriptor, or the node's own mapping. Not inherited by forks: a child
// has no pins, so bytes could change under its eyes. Constant once made.
class SegmentMap {
 public:
  enum class Access : std::uint8_t { kRead, kWrite };

  SegmentMap() = default;  // nothing mapped
  // Takes the descriptor, and closes it: the mapping doesn't need it.
  static Result<SegmentMap> Map(int descriptor, Access access);
  // In the node's process. `owner` keeps the memory.
  static SegmentMap Of(std::span<std::byte> bytes, std::shared_ptr<void> owner);

  bool mapped() const { return !bytes_.empty(); }
  // protocol: not inside the segment. A mapping for reading faults at the first write.
  Result<std::span<std::byte>> Range(std::uint64_t offset, std::uint64_t size) const;

 private:
  SegmentMap(std::span<std::byte> bytes, std::shared_ptr<void> owner);

  std::span<std::byte> bytes_;
  std::shared_ptr<void> owner_;  // unmaps, or is the node's
};

}  // namespace hoplite::client
