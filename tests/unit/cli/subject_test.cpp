#include "cli/demo/subject.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/units.h"
#include "cli/private_folder.h"

namespace hoplite::cli::demo {
namespace {

TEST(Subject, TheRateLetsOneWatchWhateverTheSize) {
  for (const std::uint64_t size : {4_MiB, 64_MiB + 7, 1_GiB, 20_GiB}) {
    const double seconds = static_cast<double>(size) / static_cast<double>(WatchableRate(size));
    EXPECT_LE(seconds, 8.0) << size;
    EXPECT_GE(seconds, 3.0) << size;
  }
}

TEST(Subject, SameBytesSameHash) {
  const auto folder = PrivateFolder::Make();
  const std::string path = folder->path() / "file";
  std::ofstream(path) << std::string(4_MiB, 'a');
  const auto subject = ChooseSubject(path, 2);
  ASSERT_TRUE(subject) << subject.error().message;
  EXPECT_EQ(subject->size_bytes, 4_MiB);
  EXPECT_EQ(ChooseSubject(path, 2)->hash, subject->hash);
  std::ofstream(path, std::ios::app) << 'b';
  EXPECT_NE(ChooseSubject(path, 2)->hash, subject->hash);
}

TEST(Subject, AFileThatMemoryCannotHoldIsRefused) {
  const auto folder = PrivateFolder::Make();
  const std::string path = folder->path() / "file";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, 1024_GiB);
  const auto subject = ChooseSubject(path, 2);
  ASSERT_FALSE(subject);
  EXPECT_EQ(subject.error().code, ErrorCode::kResourceExhausted) << subject.error().message;
}

}  // namespace
}  // namespace hoplite::cli::demo
