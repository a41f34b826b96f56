#include "base/checksum.h"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <xxhash.h>

namespace hoplite {
namespace {

// This file sees the plain function, whatever instructions BlockChecksum chose.
TEST(BlockChecksum, EqualsPlainXxh3ForEveryLength) {
  std::mt19937_64 random(7);
  std::vector<std::byte> bytes(70000);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (const std::size_t size :
       {0, 1, 3, 8, 16, 17, 128, 129, 240, 241, 1024, 16384, 65535, 65536}) {
    for (const std::size_t shift : {0, 1, 13}) {
      const std::span block = std::span(bytes).subspan(shift, size);
      EXPECT_EQ(BlockChecksum(block), XXH3_64bits(block.data(), block.size())) << size << " bytes";
    }
  }
}

TEST(BlockChecksum, SeesOneFlippedBit) {
  std::vector<std::byte> bytes(65536);
  const std::uint64_t before = BlockChecksum(bytes);
  bytes[40000] ^= std::byte{4};
  EXPECT_NE(BlockChecksum(bytes), before);
}

}  // namespace
}  // namespace hoplite
