#include "store/segment.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"

namespace hoplite::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MemfdSegment, IsWritableAndSeenThroughItsDescriptor) {
  auto segment = CreateMemfdSegment(1_MiB + 10);
  ASSERT_TRUE(segment) << segment.error().ToString();
  const std::span<std::byte> bytes = (*segment)->bytes();
  ASSERT_EQ(bytes.size(), 1_MiB + 10);
  bytes[1_MiB + 9] = std::byte{77};
  std::byte seen{};
  ASSERT_EQ(::pread((*segment)->descriptor(), &seen, 1, 1_MiB + 9), 1);
  EXPECT_EQ(seen, std::byte{77});
}

TEST(MemfdSegment, TheReadOnlyDescriptorRefusesAWritableMapping) {
  auto segment = CreateMemfdSegment(64_KiB);
  ASSERT_TRUE(segment);
  const int fd = (*segment)->read_only_descriptor();
  EXPECT_EQ(::mmap(nullptr, 64_KiB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(errno, EACCES);
  void* view = ::mmap(nullptr, 64_KiB, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_NE(::mprotect(view, 64_KiB, PROT_READ | PROT_WRITE), 0);
  (*segment)->bytes()[5] = std::byte{9};
  EXPECT_EQ(static_cast<const std::byte*>(view)[5], std::byte{9});
  ::munmap(view, 64_KiB);
}

// Otherwise what the program prints would go over the objects.
TEST(MemfdSegment, NeverTakesTheNumberOfAClosedStandardStream) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const auto segment = CreateMemfdSegment(64_KiB);
    const bool above =
        segment && (*segment)->descriptor() > 2 && (*segment)->read_only_descriptor() > 2;
    ::_exit(above ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A worker that holds the descriptor could otherwise kill the node by a shorter file.
TEST(MemfdSegment, CannotBeTruncated) {
  auto segment = CreateMemfdSegment(64_KiB);
  ASSERT_TRUE(segment);
  EXPECT_NE(::ftruncate((*segment)->descriptor(), 4096), 0);
  EXPECT_EQ(errno, EPERM);
}

TEST(MemfdSegment, LeavesNoFileBehind) {
  const auto count = [] {
    const std::filesystem::directory_iterator files("/dev/shm");
    return std::ranges::count_if(files, [](const auto& file) {
      return file.path().filename().string().contains("hoplite");
    });
  };
  auto segment = CreateMemfdSegment(64_KiB);
  ASSERT_TRUE(segment);
  EXPECT_EQ(count(), 0);
}

TEST(MemfdSegment, LargerThanMemoryIsRefusedWithBothSizes) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 50, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    const auto segment = CreateMemfdSegment(bytes);
    ASSERT_FALSE(segment);
    EXPECT_EQ(segment.error().code, ErrorCode::kResourceExhausted);
    EXPECT_THAT(segment.error().message,
                AllOf(HasSubstr(std::to_string(bytes)), HasSubstr("are available")));
  }
}

TEST(MemfdSegment, ZeroBytesAreRefused) {
  const auto segment = CreateMemfdSegment(0);
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code, ErrorCode::kInvalidArgument);
}

TEST(MemfdSegment, SmallOnesAreReservedAtOnce) {
  auto segment = CreateMemfdSegment(3_MiB);
  ASSERT_TRUE(segment);
  EXPECT_EQ((*segment)->reserved_bytes(), 3_MiB);
}

std::uint64_t BytesOnPages(SharedSegment& segment) {
  struct stat about{};
  EXPECT_EQ(::fstat(segment.descriptor(), &about), 0);
  return static_cast<std::uint64_t>(about.st_blocks) * 512;
}

// Otherwise a node of some GiB is not ready for ten seconds.
TEST(MemfdSegment, OfLargeOnesABitIsReservedAtOnceAndTheRestPieceByPiece) {
  constexpr std::uint64_t kBytes = 150_MiB + 10;
  auto segment = CreateMemfdSegment(kBytes);
  ASSERT_TRUE(segment) << segment.error().ToString();
  EXPECT_EQ((*segment)->reserved_bytes(), 64_MiB);
  while ((*segment)->reserved_bytes() < kBytes) {
    const std::uint64_t before = (*segment)->reserved_bytes();
    ASSERT_TRUE((*segment)->ReserveMore());
    EXPECT_GT((*segment)->reserved_bytes(), before);
    EXPECT_GE(BytesOnPages(**segment), (*segment)->reserved_bytes());
  }
  EXPECT_EQ((*segment)->reserved_bytes(), kBytes);
}

TEST(MemfdSegment, LargerThanAFileMayBeIsRefusedByNameAndNobodyDies) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{1_MiB, 1_MiB};
    ::setrlimit(RLIMIT_FSIZE, &few);
    const auto segment = CreateMemfdSegment(2_MiB);
    const bool named = !segment && segment.error().code == ErrorCode::kResourceExhausted &&
                       segment.error().message.contains("ulimit -f");
    ::_exit(named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// How much of the mapping that begins there the kernel has mapped in huge pages.
std::uint64_t HugeBytes(const std::byte* begin) {
  std::ifstream maps("/proc/self/smaps");
  const std::string first = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(begin));
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with(first)) found = true;
    const std::string_view key = "ShmemPmdMapped:";
    if (found && line.starts_with(key)) return std::stoull(line.substr(key.size())) * 1024;
  }
  return 0;
}

TEST(MemfdSegment, HasTheHugePagesThatTheKernelGives) {
  const auto segment = CreateMemfdSegment(2_MiB);
  ASSERT_TRUE(segment) << segment.error().ToString();
  const std::span<std::byte> bytes = (*segment)->bytes();
  const bool has = HugeBytes(bytes.data()) == 2_MiB;
  constexpr int kCollapse = 25;  // MADV_COLLAPSE
  EXPECT_EQ(has, ::madvise(bytes.data(), bytes.size(), kCollapse) == 0);
}

TEST(MemfdSegment, IsReservedInFullWhateverItsSize) {
  for (const std::uint64_t size : {2_MiB - 1, 2_MiB + 1, 64_MiB - 4096, 66_MiB + 4097}) {
    const auto segment = CreateMemfdSegment(size);
    ASSERT_TRUE(segment) << segment.error().ToString();
    while ((*segment)->reserved_bytes() < size) ASSERT_TRUE((*segment)->ReserveMore());
    struct stat about{};
    ASSERT_EQ(::fstat((*segment)->descriptor(), &about), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(about.st_size), size);
    EXPECT_GE(BytesOnPages(**segment), size);
  }
}

TEST(MemfdSegment, AChildOfForkDoesNotSeeIt) {
  auto segment = CreateMemfdSegment(64_KiB);
  ASSERT_TRUE(segment);
  std::byte* first = (*segment)->bytes().data();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::msync(first, 4096, MS_ASYNC) == 0 ? 1 : 0);  // ENOMEM: not mapped
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(HeapSegment, IsPlainAlignedMemory) {
  const auto segment = CreateHeapSegment(100_KiB);
  EXPECT_EQ(segment->bytes().size(), 100_KiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment->bytes().data()) % 4096, 0u);
  EXPECT_EQ(segment->descriptor(), -1);
  EXPECT_EQ(segment->read_only_descriptor(), -1);
  EXPECT_EQ(segment->reserved_bytes(), 100_KiB);
}

}  // namespace
}  // namespace hoplite::store
