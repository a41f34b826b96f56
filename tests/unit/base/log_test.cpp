#include "base/log.h"

#include <cstdio>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hoplite {
namespace {

// In a process that was started without standard error.
TEST(LogWithoutStandardError, DISABLED_InTheProcess) {
  std::FILE* const own = std::tmpfile();
  ASSERT_TRUE(own);
  ASSERT_EQ(::fileno(own), STDERR_FILENO);
  log::Warn("this must not go into a file of the program");
  struct stat about{};
  ASSERT_EQ(::fstat(STDERR_FILENO, &about), 0);
  EXPECT_EQ(about.st_size, 0);
  std::fclose(own);
}

TEST(LogWithoutStandardError, GoesIntoNoFileThatGotItsNumber) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    ::execl("/proc/self/exe", "base_tests", "--gtest_also_run_disabled_tests",
            "--gtest_filter=LogWithoutStandardError.DISABLED_*", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hoplite
