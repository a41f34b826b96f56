#include "client/segment_map.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/own_process.h"
#include "base/shared_mapping.h"

namespace hoplite::client {

namespace {

std::unexpected<Error> NoMapping(const char* what, int error) {
  return std::unexpected(
      Error(ErrorCode::kResourceExhausted, fmt::format("mapping {}: {}", what, strerror(error))));
}

enum class Children : std::uint8_t { kInherit, kDoNot };

// A mapping, and what keeps its file open. If a forked child has not inherited the mapping,
// something else may lie there.
class Pages {
 public:
  Pages(void* start, std::size_t size, FileDescriptor file, Children children)
      : start_(start), size_(size), file_(std::move(file)), children_(children) {
    if (children_ == Children::kDoNot) ::madvise(start_, size_, MADV_DONTFORK);
  }
  ~Pages() {
    if (children_ == Children::kInherit || process_.here()) ::munmap(start_, size_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

 private:
  void* const start_;
  const std::size_t size_;
  const FileDescriptor file_;
  const Children children_;
  const OwnProcess process_;
};

}  // namespace

SegmentMap::SegmentMap(std::span<std::byte> bytes, int descriptor, std::shared_ptr<void> owner)
    : bytes_(bytes), descriptor_(descriptor), owner_(std::move(owner)) {}

Result<SegmentMap> SegmentMap::Map(int descriptor, Access access) {
  FileDescriptor file(descriptor);
  struct stat about{};
  void* memory = MAP_FAILED;
  if (::fstat(file.get(), &about) == 0) {
    const int protection = access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
    memory = MapShared(static_cast<std::size_t>(about.st_size), protection, file.get());
  }
  if (memory == MAP_FAILED) return NoMapping("the node's memory", errno);
  if (access == Access::kWrite) file.Reset();
  const auto size = static_cast<std::size_t>(about.st_size);
  const int kept = file.get();
  const auto children = access == Access::kWrite ? Children::kDoNot : Children::kInherit;
  auto owner = std::make_shared<Pages>(memory, size, std::move(file), children);
  return SegmentMap({static_cast<std::byte*>(memory), size}, kept, std::move(owner));
}

SegmentMap SegmentMap::Of(std::span<std::byte> bytes, int descriptor, std::shared_ptr<void> owner) {
  return SegmentMap(bytes, descriptor, std::move(owner));
}

Result<SegmentMap::PrivateRange> SegmentMap::MapPrivate(std::span<const std::byte> range) const {
  if (range.empty()) return PrivateRange();
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::uint64_t>(range.data() - bytes_.data());
  const std::uint64_t before = begin % page;
  const std::size_t size = before + range.size();
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor_,
                        static_cast<off_t>(begin - before));
  if (memory == MAP_FAILED) return NoMapping("an object's memory once more", errno);
  return PrivateRange{
      .bytes = {static_cast<std::byte*>(memory) + before, range.size()},
      .pages = std::make_shared<Pages>(memory, size, FileDescriptor(), Children::kInherit)};
}

// Where something lies already, it is the same mapping: several connections show one segment.
void SegmentMap::ReappearInChild() const {
  if (bytes_.empty() || descriptor_ < 0) return;
  (void)::mmap(bytes_.data(), bytes_.size(), PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE,
               descriptor_, 0);
}

Result<std::span<std::byte>> SegmentMap::Range(std::uint64_t offset, std::uint64_t size) const {
  if (offset <= bytes_.size() && size <= bytes_.size() - offset) {
    return bytes_.subspan(offset, size);
  }
  return std::unexpected(
      Error(ErrorCode::kProtocol, fmt::format("the node names bytes {} to {} of a segment of {}",
                                              offset, offset + size, bytes_.size())));
}

}  // namespace hoplite::client
