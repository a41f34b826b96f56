#include "store/available_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/units.h"

namespace hoplite::store {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// A machine of 8000 KiB as /proc shows it, with groups below two mounts, "v1" and "v2".
class AvailableMemoryTest : public ::testing::Test {
 protected:
  AvailableMemoryTest()
      : root_(std::filesystem::path(::testing::TempDir()) /
              fmt::format("available-{}", ::getpid())) {
    Write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:  8000 kB\n");
  }
  ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::app) << text;
  }
  // The mounted group and ours, as a container or its host sees them.
  void MountVersion1(const std::string& root, const std::string& own) {
    Write("proc/self/mountinfo",
          fmt::format("30 24 0:26 {} {}/v1 rw,nosuid shared:9 - cgroup cgroup rw,memory\n", root,
                      root_.string()));
    Write("proc/self/cgroup", fmt::format("5:pids:/other\n4:hugetlb,memory:{}\n", own));
  }
  void MountVersion2(const std::string& root, const std::string& own) {
    Write("proc/self/mountinfo",
          fmt::format("31 24 0:27 {} {}/v2 rw - cgroup2 cgroup2 rw\n", root, root_.string()));
    Write("proc/self/cgroup", fmt::format("0::{}\n", own));
  }
  void Limit1(const std::string& group, std::uint64_t limit, std::uint64_t used) {
    Write("v1" + group + "/memory.limit_in_bytes", fmt::format("{}\n", limit));
    Write("v1" + group + "/memory.usage_in_bytes", fmt::format("{}\n", used));
  }
  void Limit2(const std::string& group, const std::string& limit, std::uint64_t used) {
    Write("v2" + group + "/memory.max", limit + "\n");
    Write("v2" + group + "/memory.current", fmt::format("{}\n", used));
  }
  MemoryLimit Available() { return AvailableMemoryFrom(root_ / "proc"); }

 private:
  const std::filesystem::path root_;
};

TEST_F(AvailableMemoryTest, IsTheMachinesWithoutGroups) {
  EXPECT_EQ(Available().bytes, 8000_KiB);
  EXPECT_EQ(Available().whose, "the machine's memory");
}

TEST_F(AvailableMemoryTest, UnlimitedGroupsDoNotBind) {
  MountVersion2("/", "/a/b");
  Limit2("/a/b", "max", 1000);
  EXPECT_EQ(Available().bytes, 8000_KiB);
}

TEST_F(AvailableMemoryTest, TheTightestGroupBindsAndItsCacheCountsAsFree) {
  MountVersion2("/", "/a/b");
  Limit2("/a/b", "4000000", 10);
  Limit2("/a", "1000000", 700000);
  Write("v2/a/memory.stat", "anon 5\ninactive_file 200000\n");
  EXPECT_EQ(Available().bytes, 500000u);
  EXPECT_THAT(Available().whose, EndsWith("v2/a"));
}

TEST_F(AvailableMemoryTest, AGroupBeyondItsLimitLeavesNothing) {
  MountVersion2("/", "/a");
  Limit2("", "1000", 2000);
  EXPECT_EQ(Available().bytes, 0u);
}

TEST_F(AvailableMemoryTest, VersionOneBindsToo) {
  MountVersion1("/", "/a/b");
  Limit1("/a/b", 9'223'372'036'854'771'712u, 10);  // what it says where there is no limit
  Limit1("/a", 1'000'000, 700'000);
  Write("v1/a/memory.stat", "inactive_file 5\ntotal_inactive_file 100000\n");
  EXPECT_EQ(Available().bytes, 400'000u);
  EXPECT_THAT(Available().whose, EndsWith("v1/a"));
}

TEST_F(AvailableMemoryTest, OfBothSideBySideTheTighterBinds) {
  MountVersion1("/", "/one");
  MountVersion2("/", "/two");
  Limit1("/one", 900'000, 0);
  Limit2("/two", "800000", 0);
  EXPECT_EQ(Available().bytes, 800'000u);
  Limit1("", 700'000, 0);
  EXPECT_EQ(Available().bytes, 700'000u);
}

// A container sees its group's name on the host, and that group where it is mounted.
TEST_F(AvailableMemoryTest, AContainersOwnGroupIsWhatIsMounted) {
  MountVersion1("/docker/123", "/docker/123");
  MountVersion2("/kubepods/pod7", "/kubepods/pod7/inner");
  Limit1("", 600'000, 0);
  Limit2("/inner", "500000", 0);
  EXPECT_EQ(Available().bytes, 500'000u);
  EXPECT_THAT(Available().whose, HasSubstr("v2/inner"));
}

TEST_F(AvailableMemoryTest, AGroupOutsideOfWhatIsMountedIsTakenForTheMounted) {
  MountVersion1("/docker/123", "/");
  Limit1("", 600'000, 0);
  EXPECT_EQ(Available().bytes, 600'000u);
}

}  // namespace
}  // namespace hoplite::store
