#include "base/log_output.h"

#include <csignal>
#include <cstddef>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace hoplite::log {
namespace {

// Of a pipe, or of a pair of sockets.
class UnreadLog : public ::testing::TestWithParam<bool> {
 protected:
  UnreadLog() {
    int ends[2];
    const int made =
        GetParam() ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : ::pipe2(ends, O_CLOEXEC);
    EXPECT_EQ(made, 0);
    reader_ = FileDescriptor(ends[0]);
    writer_ = FileDescriptor(ends[1]);
  }
  // All that is there now.
  std::string Read() const {
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    std::string text;
    std::string some(1 << 16, ' ');
    for (;;) {
      const ssize_t count = ::read(reader_.get(), some.data(), some.size());
      if (count <= 0) return text;
      text.append(some, 0, static_cast<std::size_t>(count));
    }
  }

  FileDescriptor reader_;
  FileDescriptor writer_;
};

TEST_P(UnreadLog, WaitsForNobodyAndCountsWhatIsMissing) {
  constexpr std::size_t kLines = 30'000;
  const std::string line = std::string(99, 'x') + '\n';
  LogOutput output(writer_.get());
  for (std::size_t i = 0; i < kLines; ++i) output.Write(line);
  const std::uint64_t dropped = output.dropped();
  ASSERT_GT(dropped, 0U);
  EXPECT_EQ(::fcntl(writer_.get(), F_GETFL) & O_NONBLOCK, 0) << "others write there, too";
  std::string text = Read();
  output.Write("again\n");
  EXPECT_EQ(output.dropped(), 0U);
  text += Read();
  const std::string end =
      std::to_string(dropped) + " lines of the log were dropped: nobody read it\nagain\n";
  ASSERT_TRUE(text.ends_with(end)) << text.substr(text.size() - 200);
  text.resize(text.size() - end.size());
  EXPECT_EQ(text.size(), (kLines - dropped) * line.size()) << "whole lines alone";
}

TEST_P(UnreadLog, AReaderMayGo) {
  std::signal(SIGPIPE, SIG_IGN);
  LogOutput output(writer_.get());
  reader_.Reset();
  for (int i = 0; i < 3; ++i) output.Write("nobody\n");
  EXPECT_EQ(output.dropped(), 3U);
  std::signal(SIGPIPE, SIG_DFL);
}

TEST_P(UnreadLog, TheDescriptorMayMeanAnotherFileLater) {
  LogOutput output(writer_.get());
  output.Write("here\n");
  EXPECT_EQ(Read(), "here\n");
  int other[2];
  ASSERT_EQ(::pipe2(other, O_CLOEXEC), 0);
  const FileDescriptor read(other[0]);
  ASSERT_EQ(::dup2(other[1], writer_.get()), writer_.get());
  ::close(other[1]);
  output.Write("there\n");
  std::string text(16, ' ');
  EXPECT_EQ(::read(read.get(), text.data(), text.size()), 6);
}

INSTANTIATE_TEST_SUITE_P(Descriptors, UnreadLog, ::testing::Bool(),
                         [](const auto& sockets) { return sockets.param ? "Socket" : "Pipe"; });

}  // namespace
}  // namespace hoplite::log
