#include <xxhash.h>
#ifdef HOPLITE_XXHASH_DISPATCH
// Makes XXH3_64bits choose AVX-512, AVX2 or SSE2 at run time; the value is the same for all.
#include <xxh_x86dispatch.h>
#endif

#include "base/checksum.h"

namespace hoplite {

std::uint64_t BlockChecksum(std::span<const std::byte> block) {
  return XXH3_64bits(block.data(), block.size());
}

}  // namespace hoplite
