#include "net/frame_reader.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/try.h"
#include "sim/seams/sim_transport.h"
#include "testing/run_task.h"

namespace hoplite::net {
namespace {

using hoplite::test::Running;
using hoplite::test::RunTask;
using ::testing::HasSubstr;

// The two ends of a stream: the test writes at `near`, reads at `far`.
struct FrameReaderTest : ::testing::Test {
  FrameReaderTest() {
    listener = *transport.Listen("sim:0", [this](StreamPtr stream) { far = stream; });
    near = *RunTask(loop, transport.Connect(listener->address(), std::chrono::seconds(1)));
    EXPECT_TRUE(hoplite::test::RunUntil(loop, [this] { return far != nullptr; }));
  }
  void Write(std::span<const std::byte> bytes) {
    ASSERT_TRUE(RunTask(loop, near->Send(bytes, Payload{})));
  }

  asio::io_context loop{1};
  SimTransport transport{loop};
  std::unique_ptr<Listener> listener;
  StreamPtr near;
  StreamPtr far;
};

wire::Data DataOf(std::size_t bytes) {
  wire::Data data;
  data.block_count = 1;
  data.payload_bytes = static_cast<std::uint32_t>(bytes);
  return data;
}

std::vector<std::byte> Pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

TEST_F(FrameReaderTest, ReadsFramesAndPayloadsThatCameInOnePiece) {
  const auto small = Pattern(100);
  const auto large = Pattern(50000);
  std::vector<std::byte> all = wire::Encode(wire::KeepAlive{5});
  wire::Append(all, DataOf(small.size()));
  all.insert(all.end(), small.begin(), small.end());
  wire::Append(all, DataOf(large.size()));
  all.insert(all.end(), large.begin(), large.end());
  wire::Append(all, wire::Done{});
  Write(all);

  FrameReader reader(far);
  EXPECT_EQ(*RunTask(loop, reader.Next()), wire::Frame(wire::KeepAlive{5}));
  for (const auto& payload : {small, large}) {
    EXPECT_EQ(*RunTask(loop, reader.Next()), wire::Frame(DataOf(payload.size())));
    std::vector<std::byte> got(payload.size());
    const std::span<std::byte> into(got);
    EXPECT_TRUE(RunTask(loop, reader.ReceivePayload(into.first(40)))) << "piece by piece";
    EXPECT_FALSE(reader.at_rest());
    EXPECT_TRUE(RunTask(loop, reader.ReceivePayload(into.subspan(40))));
    EXPECT_EQ(got, payload);
  }
  EXPECT_EQ(*RunTask(loop, reader.Next()), wire::Frame(wire::Done{}));
  EXPECT_TRUE(reader.at_rest());
}

TEST_F(FrameReaderTest, ReadsFramesThatComeByteByByte) {
  FrameReader reader(far);
  const wire::Frame sent = DataOf(3);
  Running<Result<wire::Frame>> next(loop, reader.Next());
  for (const std::byte byte : wire::Encode(sent)) {
    EXPECT_FALSE(next.done());
    Write(std::span(&byte, 1));
    loop.restart();
    loop.poll();
  }
  EXPECT_EQ(*next.Finish(), sent);
}

// More frames than the buffer holds, so that one lies across its end.
TEST_F(FrameReaderTest, ReadsManyFramesThatWereReadAhead) {
  std::vector<std::byte> all;
  for (std::uint32_t i = 0; i < 1000; ++i) wire::Append(all, wire::KeepAlive{i});
  Write(all);
  FrameReader reader(far);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(*RunTask(loop, reader.Next()), wire::Frame(wire::KeepAlive{i}));
  }
}

TEST_F(FrameReaderTest, GarbageIsAProtocolError) {
  const std::vector<std::byte> garbage(100, std::byte{0xee});
  Write(garbage);
  FrameReader reader(far);
  const auto frame = RunTask(loop, reader.Next());
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, ErrorCode::kProtocol);
}

TEST_F(FrameReaderTest, EndInTheMiddleOfAFrameIsClosedByPeer) {
  auto bytes = wire::Encode(wire::Credit{7});
  bytes.resize(bytes.size() - 1);
  Write(bytes);
  near->Close();
  FrameReader reader(far);
  const auto frame = RunTask(loop, reader.Next());
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(frame.error().message, HasSubstr("closed by peer"));
}

}  // namespace
}  // namespace hoplite::net
