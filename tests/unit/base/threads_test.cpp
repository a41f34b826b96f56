#include "base/threads.h"

#include <cstdint>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"

namespace hoplite {
namespace {

TEST(RequireThreads, AsManyAsAMemberNeedsCanBeStarted) {
  EXPECT_TRUE(RequireThreads(16, "a test"));
}

// Instead of a limit of threads, which does not bind the superuser: their stacks have no addresses.
TEST(RequireThreads, TooFewAreNamed) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer can't live below a limit of the address space";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + 64_MiB;
    const rlimit few{most, most};
    ::setrlimit(RLIMIT_AS, &few);
    const Result<void> enough = RequireThreads(1000, "a test");
    const bool named = !enough && enough.error().code == ErrorCode::kResourceExhausted &&
                       enough.error().message.starts_with("a test needs 1000 threads, ");
    ::_exit(named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hoplite
