#include "base/shared_mapping.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace hoplite {
namespace {

FileDescriptor FileOf(std::size_t bytes) {
  FileDescriptor file(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  return file;
}

// Of this process's address space. Takes no memory itself: a heap that grows, or shrinks, would count.
std::size_t MappedBytes() {
  char text[64] = {};
  const FileDescriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  EXPECT_GT(::read(file.get(), text, sizeof(text) - 1), 0);
  return std::strtoull(text, nullptr, 10) * kSmallPage;
}

class SharedMapping : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SharedMapping, IsTheFileAndNothingBesideIt) {
  const std::size_t size = GetParam();
  const FileDescriptor file = FileOf(size);
  const std::size_t before = MappedBytes();
  auto* const bytes = static_cast<std::byte*>(MapShared(size, PROT_READ | PROT_WRITE, file.get()));
  const std::size_t with = MappedBytes();
  ASSERT_NE(bytes, MAP_FAILED);
  bytes[0] = std::byte{7};
  bytes[size - 1] = std::byte{9};
  std::byte seen{};
  EXPECT_EQ(::pread(file.get(), &seen, 1, static_cast<off_t>(size - 1)), 1);
  EXPECT_EQ(seen, std::byte{9});
  EXPECT_EQ(with - before, (size + kSmallPage - 1) / kSmallPage * kSmallPage);
  ::munmap(bytes, size);
  EXPECT_EQ(MappedBytes(), before);
}

TEST_P(SharedMapping, BeginsWhereAHugePageMayIfItHoldsOne) {
  const FileDescriptor file = FileOf(GetParam());
  void* const bytes = MapShared(GetParam(), PROT_READ, file.get());
  ASSERT_NE(bytes, MAP_FAILED);
  const std::size_t page = GetParam() < kHugePage ? kSmallPage : kHugePage;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % page, 0u);
  ::munmap(bytes, GetParam());
}

TEST_P(SharedMapping, ThatFailsSaysWhyAndLeavesNothing) {
  const std::size_t before = MappedBytes();
  EXPECT_EQ(MapShared(GetParam(), PROT_READ, -1), MAP_FAILED);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(MappedBytes(), before);
}

INSTANTIATE_TEST_SUITE_P(Sizes, SharedMapping,
                         ::testing::Values(1, kSmallPage, kHugePage - 1, kHugePage, kHugePage + 1,
                                           5 * kHugePage, (64 * kHugePage) + kSmallPage));

}  // namespace
}  // namespace hoplite
