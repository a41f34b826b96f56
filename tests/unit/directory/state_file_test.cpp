// What a shard keeps over restarts, and every way in which its file may be unusable.
#include "directory/state_file.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hoplite::directory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr ShardState kState{.id = 0xabc, .incarnation = 1'764'000'000'000'000};

class StateFileTest : public testing::Test {
 protected:
  StateFileTest() {
    std::string folder = testing::TempDir() + "state-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    path_ = folder_ / "shard";
  }
  ~StateFileTest() override { std::filesystem::remove_all(folder_); }

  static constexpr char kOwner[] = "cluster blue, shard 1 of 2";
  Result<StateFile> Open(const std::string& owner = kOwner) const {
    return StateFile::Open(path_, owner);
  }
  void Make() const {
    auto file = Open();
    ASSERT_TRUE(file) << file.error().ToString();
    EXPECT_FALSE(file->kept());
    const auto written = file->Write(kState);
    ASSERT_TRUE(written) << written.error().ToString();
  }
  std::string Text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Overwrite(const std::string& text) const { std::ofstream(path_) << text; }
  void ExpectRefused(const std::string& words, const std::string& owner = kOwner,
                     ErrorCode code = ErrorCode::kInvalidArgument) const {
    const auto file = Open(owner);
    ASSERT_FALSE(file) << words;
    EXPECT_EQ(file.error().code, code);
    EXPECT_THAT(file.error().message,
                AllOf(HasSubstr("'" + path_.string() + "'"), HasSubstr(words)));
  }

  static void ExpectNoRoomFor(StateFile& file) {
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit little{.rlim_cur = 10, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const auto written = file.Write({.id = 1, .incarnation = 1});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::kResourceExhausted);
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(StateFileTest, KeepsWhatWasWrittenLast) {
  Make();
  const ShardState later{.id = kState.id, .incarnation = kState.incarnation + 1};
  {
    auto file = Open();
    ASSERT_TRUE(file) << file.error().ToString();
    EXPECT_EQ(file->kept(), kState);
    ASSERT_TRUE(file->Write(later));
  }
  EXPECT_EQ(Open()->kept(), later);
}

TEST_F(StateFileTest, LeavesNothingElseInItsFolder) {
  Make();
  const auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  EXPECT_THAT(Text(), HasSubstr("cluster blue, shard 1 of 2\nid 0000000000000abc\n"));
}

TEST_F(StateFileTest, WhatAnInterruptedWriteLeftIsWrittenOver) {
  Make();
  std::ofstream(path_.string() + ".new") << "half of a f" << std::string(1000, 'x');
  {
    auto file = Open();
    ASSERT_TRUE(file) << file.error().ToString();
    ASSERT_TRUE(file->Write({.id = kState.id, .incarnation = kState.incarnation + 1}));
  }
  const auto file = Open();
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(file->kept()->incarnation, kState.incarnation + 1);
}

TEST_F(StateFileTest, IsOneDirectorysAlone) {
  auto file = Open();
  ASSERT_TRUE(file);
  auto second = Open();  // there is no file yet
  ASSERT_TRUE(second);
  ASSERT_TRUE(file->Write(kState));
  const auto late = second->Write(kState);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  ExpectRefused("is in use by another directory", kOwner, ErrorCode::kUnavailable);
  ASSERT_TRUE(file->Write(kState));
  ExpectRefused("is in use by another directory", kOwner, ErrorCode::kUnavailable);
}

TEST_F(StateFileTest, ALinkIsAnotherNameOfTheSameFile) {
  Make();
  const auto link = folder_ / "link";
  std::filesystem::create_symlink(path_, link);
  const auto file = Open();
  ASSERT_TRUE(file);
  EXPECT_FALSE(StateFile::Open(link, kOwner));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST_F(StateFileTest, OfAnotherClusterOrShardIsRefused) {
  Make();
  ExpectRefused("is of cluster blue, shard 1 of 2, this directory is of cluster red, shard 1 of 2",
                "cluster red, shard 1 of 2");
}

TEST_F(StateFileTest, OfAnotherVersionIsRefused) {
  Make();
  Overwrite("hoplite directory state 2\nwhat may come\n");
  ExpectRefused("is of version '2', this program knows 1");
}

TEST_F(StateFileTest, DamageOfAnyByteIsFound) {
  Make();
  const std::string whole = Text();
  const std::size_t version = whole.find('\n') - 1;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    if (at == version || at == version + 1) continue;  // as if of another version
    Overwrite(damaged);
    ExpectRefused("is damaged");
    Overwrite(whole.substr(0, at));
    if (at != version) ExpectRefused("is damaged");
  }
  Overwrite(whole + "x");
  ExpectRefused("is damaged");
  Overwrite(whole);
  EXPECT_TRUE(Open());
}

TEST_F(StateFileTest, WhatIsNoFileIsRefused) {
  std::filesystem::create_directory(path_);
  ExpectRefused("is no regular file");
  ASSERT_TRUE(std::filesystem::remove(path_));
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused("is no regular file");
}

TEST_F(StateFileTest, OfAnotherUserIsRefused) {
  Make();
  if (::chown(path_.c_str(), 12345, 12345) == 0) {
    ExpectRefused("belongs to user 12345, and this directory runs as user 0");
  } else {
    path_ = "/etc/passwd";
    ExpectRefused("belongs to user 0, and this directory runs as user");
  }
}

TEST_F(StateFileTest, AFolderThatIsNotThereIsSaid) {
  path_ = folder_ / "missing" / "shard";
  auto file = Open();
  ASSERT_TRUE(file) << "nothing is there yet";
  const auto written = file->Write(kState);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(written.error().message, HasSubstr("No such file or directory"));
}

TEST_F(StateFileTest, AFullDiskLeavesTheOldFile) {
  Make();
  {
    auto file = Open();
    ASSERT_TRUE(file);
    ExpectNoRoomFor(*file);
  }
  EXPECT_EQ(Open()->kept(), kState);
}

}  // namespace
}  // namespace hoplite::directory
