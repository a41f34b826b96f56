// What a killed process leaves on the disk: nothing.
#include <csignal>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "store/disk.h"
#include "testing/temporary_folder.h"

namespace hoplite::store {
namespace {

// Writes, says so through the pipe, and waits to be killed.
[[noreturn]] void WriteAndWait(const std::string& folder, int pipe) {
  const auto disk = OpenDisk(folder, 64_MiB);
  if (!disk) ::_exit(1);
  const std::vector<std::byte> bytes(8_MiB, std::byte{7});
  std::promise<bool> written;
  (*disk)->Write(0, {bytes},
                 [&](const Result<void>& done) { written.set_value(done.has_value()); });
  const char answer = written.get_future().get() ? 'y' : 'n';
  if (::write(pipe, &answer, 1) != 1) ::_exit(1);
  for (;;) ::pause();
}

TEST(DiskProcess, AKilledOneLeavesNothingInTheFolder) {
  const testing::TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) WriteAndWait(folder.path(), ends[1]);
  char answer = 0;
  EXPECT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(folder.empty());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace hoplite::store
