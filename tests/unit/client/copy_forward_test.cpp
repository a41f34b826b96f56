// Copies with checksums, told as they grow.
#include "client/copy_forward.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/units.h"
#include "testing/bytes.h"

namespace hoplite::client {
namespace {

std::vector<std::uint64_t> ChecksumsOf(std::span<const std::byte> bytes, std::uint64_t block) {
  std::vector<std::uint64_t> checksums;
  for (std::uint64_t at = 0; at < bytes.size(); at += block) {
    checksums.push_back(BlockChecksum(bytes.subspan(at, std::min(block, bytes.size() - at))));
  }
  return checksums;
}

TEST(CopyForward, TellsEachBlocksChecksumOnce) {
  for (const std::uint32_t block : {16_KiB, 64_KiB, 1_MiB}) {
    for (const std::uint64_t size : {1ul, 256_KiB - 1, 256_KiB, 5_MiB + 1, 20_MiB + 3}) {
      const auto from = test::Pattern(size);
      std::vector<std::byte> to(size);
      std::vector<std::uint64_t> told;
      std::uint64_t last = 0;
      CopyForward(to, Pieces(from), block,
                  [&](std::uint64_t prefix, std::span<const std::uint64_t> checksums) {
                    EXPECT_GT(prefix, last);
                    EXPECT_TRUE(prefix == size || prefix % block == 0) << prefix;
                    EXPECT_TRUE(std::equal(to.begin() + static_cast<std::ptrdiff_t>(last),
                                           to.begin() + static_cast<std::ptrdiff_t>(prefix),
                                           from.begin() + static_cast<std::ptrdiff_t>(last)));
                    last = prefix;
                    told.insert(told.end(), checksums.begin(), checksums.end());
                    return true;
                  });
      EXPECT_EQ(last, size);
      EXPECT_EQ(told, ChecksumsOf(from, block)) << size << " bytes in blocks of " << block;
    }
  }
}

TEST(CopyForward, StopsWhenNobodyWantsMore) {
  const auto from = test::Pattern(64_MiB);
  std::vector<std::byte> to(from.size());
  int told = 0;
  CopyForward(to, Pieces(from), 64_KiB, [&](std::uint64_t, std::span<const std::uint64_t>) {
    ++told;
    return false;
  });
  EXPECT_EQ(told, 1);
}

TEST(CopyForward, StopsSoonAfterItIsToldTo) {
  const auto from = test::Pattern(64_MiB);
  std::vector<std::byte> to(from.size());
  std::uint64_t told = 0;
  std::atomic<bool> stop{true};
  CopyForward(
      to, Pieces(from), 64_KiB,
      [&](std::uint64_t prefix, std::span<const std::uint64_t>) {
        told = prefix;
        return true;
      },
      &stop);
  EXPECT_EQ(told, 0u);
}

TEST(CopyForward, CopiesPiecesAsIfTheyLayInOne) {
  const std::vector<std::byte> whole = test::Pattern(9_MiB + 5);
  std::vector<std::span<const std::byte>> pieces;
  std::uint64_t at = 0;
  for (const std::uint64_t size : {0ul, 1ul, 0ul, 256_KiB, 4_MiB + 3, 7ul}) {
    pieces.push_back(std::span(whole).subspan(at, size));
    at += size;
  }
  pieces.push_back(std::span(whole).subspan(at));
  std::vector<std::byte> to(whole.size());
  std::vector<std::uint64_t> told;
  CopyForward(to, Pieces(pieces), 16_KiB,
              [&](std::uint64_t, std::span<const std::uint64_t> checksums) {
                told.insert(told.end(), checksums.begin(), checksums.end());
                return true;
              });
  EXPECT_EQ(to, whole);
  EXPECT_EQ(told, ChecksumsOf(whole, 16_KiB));
}

}  // namespace
}  // namespace hoplite::client
