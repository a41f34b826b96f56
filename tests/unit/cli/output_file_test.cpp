#include "cli/output_file.h"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/private_folder.h"

// What this program's open() does besides, once: a test's seam in place of a lucky moment.
static void (*after_open)() = nullptr;

extern "C" int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (after_open != nullptr) std::exchange(after_open, nullptr)();
  return fd;
}

namespace hoplite::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  static std::span<const std::byte> Bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  std::string Contents() const {
    std::ifstream file(target_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t FileCount() const {
    return std::distance(fs::directory_iterator(folder_->path()), fs::directory_iterator());
  }

  const Result<PrivateFolder> folder_ = PrivateFolder::Make();
  const std::string target_ = folder_->path() / "out";
};

TEST_F(OutputFileTest, AppearsWholeOnCommit) {
  auto file = OutputFile::Open(target_);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->Write(Bytes("half")));
  EXPECT_FALSE(fs::exists(target_));
  ASSERT_TRUE(file->Write(Bytes(" and half")));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Contents(), "half and half");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(OutputFileTest, WithoutCommitTheOldFileStaysAndNothingElse) {
  std::ofstream(target_) << "old";
  {
    auto file = OutputFile::Open(target_);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write(Bytes("new")));
  }
  EXPECT_EQ(Contents(), "old");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(OutputFileTest, ASignalAtTheMomentOfItsMakingLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    after_open = [] { ::raise(SIGINT); };
    (void)OutputFile::Open(target_);
    ::_exit(0);  // no signal came
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(OutputFileTest, CanBeFilledInMemory) {
  auto file = OutputFile::Open(target_);
  ASSERT_TRUE(file->regular());
  {
    const auto mapping = file->Map(10'000);
    ASSERT_TRUE(mapping) << mapping.error().message;
    std::ranges::fill(mapping->bytes(), std::byte{'a'});
  }
  ASSERT_TRUE(file->Resize(9'000));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Contents(), std::string(9'000, 'a'));
  EXPECT_FALSE(OutputFile::Open("/dev/null")->regular());
}

TEST_F(OutputFileTest, RestartForgetsWhatWasWritten) {
  auto file = OutputFile::Open(target_);
  ASSERT_TRUE(file->Write(Bytes("a replaced version")));
  ASSERT_TRUE(file->Restart());
  ASSERT_TRUE(file->Write(Bytes("new")));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Contents(), "new");
}

TEST_F(OutputFileTest, ASignalLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = OutputFile::Open(target_);
    (void)file->Write(Bytes("half"));
    ::raise(SIGINT);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(OutputFileTest, KilledInTheMiddleItLeavesNothing) {
  const int nameless = ::open(folder_->path().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (nameless < 0) GTEST_SKIP() << "every file of this file system has a name";
  ::close(nameless);
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = OutputFile::Open(target_);
    (void)file->Write(Bytes("half"));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(OutputFileTest, ReplacesWhatIsThere) {
  std::ofstream(target_) << "old";
  auto file = OutputFile::Open(target_);
  ASSERT_TRUE(file->Write(Bytes("new")));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Contents(), "new");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(OutputFileTest, DevicesAreWrittenDirectly) {
  auto file = OutputFile::Open("/dev/null");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->Write(Bytes("gone")));
  EXPECT_FALSE(file->Restart());
  EXPECT_TRUE(file->Commit());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, WhereNoFileCanBeIsAnError) {
  EXPECT_FALSE(OutputFile::Open(folder_->path() / "missing" / "out"));
  EXPECT_FALSE(OutputFile::Open(folder_->path()));
}

}  // namespace
}  // namespace hoplite::cli
