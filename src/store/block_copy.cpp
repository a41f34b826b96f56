#include "store/block_copy.h"

#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/check.h"
#include "store/copy.h"

namespace hoplite::store {
namespace {

#ifdef __SSE2__
constexpr std::size_t kLine = 64;

// Whole cache lines, written without being fetched first; gives the bytes done. Needs `to` aligned.
std::size_t StreamLines(std::byte* to, const std::byte* from, std::size_t size) {
  const std::size_t whole = size / kLine * kLine;
  for (std::size_t at = 0; at < whole; at += kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from + at);
    auto* target = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();  // a mark released later must not be seen before these bytes
  return whole;
}
#else
std::size_t StreamLines(std::byte*, const std::byte*, std::size_t) { return 0; }
#endif

}  // namespace

std::uint64_t CopyBlock(std::span<std::byte> to, std::span<const std::byte> from,
                        std::uint64_t object_bytes) {
  HOPLITE_CHECK(to.size() == from.size(), "a block is copied whole");
  if (to.empty()) return BlockChecksum(to);
  const bool aligned = reinterpret_cast<std::uintptr_t>(to.data()) % 16 == 0;
  if (object_bytes < kBypassCacheFrom || !aligned) {
    std::memcpy(to.data(), from.data(), from.size());
    return BlockChecksum(to);  // still in the cache
  }
  const std::uint64_t checksum = BlockChecksum(from);  // brings it into the cache
  const std::size_t done = StreamLines(to.data(), from.data(), from.size());
  std::memcpy(to.data() + done, from.data() + done, from.size() - done);
  return checksum;
}

}  // namespace hoplite::store
