#include "store/block_copy.h"

#include <algorithm>
#include <random>
#include <ranges>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "store/copy.h"

namespace hoplite::store {
namespace {

// Both ways of copying, any length and alignment: the bytes arrive, the checksum is theirs, and the
// bytes around the block stay.
TEST(CopyBlock, CopiesExactlyTheBlockAndGivesItsChecksum) {
  constexpr std::size_t kMargin = 64;
  std::mt19937_64 random(3);
  std::vector<std::byte> from(70000);
  for (std::byte& b : from) b = static_cast<std::byte>(random());
  for (const std::uint64_t object_bytes : {kBypassCacheFrom - 1, kBypassCacheFrom}) {
    for (const std::size_t size : {0, 1, 63, 64, 65, 4095, 65536}) {
      for (const std::size_t shift : {0, 16, 5}) {
        std::vector<std::byte> memory(size + 4 * kMargin, std::byte{0xee});
        const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
        const std::size_t begin = kMargin - address % kMargin + kMargin + shift;
        const std::span to = std::span(memory).subspan(begin, size);
        const std::span source = std::span(from).subspan(7, size);
        EXPECT_EQ(CopyBlock(to, source, object_bytes), BlockChecksum(source));
        EXPECT_TRUE(std::ranges::equal(to, source)) << size << " bytes, shifted by " << shift;
        EXPECT_EQ(std::ranges::count(memory | std::views::take(begin), std::byte{0xee}),
                  static_cast<std::ptrdiff_t>(begin));
        EXPECT_EQ(memory[begin + size], std::byte{0xee});
      }
    }
  }
}

}  // namespace
}  // namespace hoplite::store
