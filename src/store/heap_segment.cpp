#include <new>

#include "store/extent_allocator.h"
#include "store/segment.h"

namespace hoplite::store {
namespace {

class HeapSegment final : public SharedSegment {
 public:
  explicit HeapSegment(std::uint64_t bytes)
      : bytes_(static_cast<std::byte*>(::operator new(bytes, kAlignment)), bytes) {}
  ~HeapSegment() override { ::operator delete(bytes_.data(), kAlignment); }
  HeapSegment(const HeapSegment&) = delete;
  HeapSegment& operator=(const HeapSegment&) = delete;

  std::span<std::byte> bytes() override { return bytes_; }
  int descriptor() const override { return -1; }
  int read_only_descriptor() const override { return -1; }
  std::uint64_t reserved_bytes() const override { return bytes_.size(); }
  Result<void> ReserveMore() override { return {}; }

 private:
  static constexpr std::align_val_t kAlignment{ExtentAllocator::kPage};

  const std::span<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<SharedSegment> CreateHeapSegment(std::uint64_t bytes) {
  return std::make_unique<HeapSegment>(bytes);
}

}  // namespace hoplite::store
