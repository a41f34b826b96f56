#include "net/handshake.h"

#include <optional>

#include <asio/steady_timer.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/seams/sim_transport.h"
#include "testing/run_task.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;
using hoplite::test::Running;
using hoplite::test::RunTask;
using ::testing::HasSubstr;

constexpr Identity kDialling{.cluster = 0xc1, .self = NodeId{1}};
constexpr Identity kListening{.cluster = 0xc1, .self = NodeId{2}};

struct HandshakeTest : ::testing::Test {
  HandshakeTest() {
    listener = *transport.Listen("sim:0", [this](StreamPtr stream) { accepted = stream; });
    dialled = *RunTask(loop, transport.Connect(listener->address(), 1s));
    EXPECT_TRUE(hoplite::test::RunUntil(loop, [this] { return accepted != nullptr; }));
  }
  void Write(std::span<const std::byte> bytes) {
    ASSERT_TRUE(RunTask(loop, dialled->Send(bytes, Payload{})));
  }
  // Both sides at once: the error of the connecting side, after the answering side failed too.
  Error Refused(Identity client, NodeId expected) {
    Running<Result<ConnectionPtr>> answer(loop, Answer(accepted, kListening));
    const auto greeted = RunTask(loop, Greet(dialled, client, expected));
    EXPECT_FALSE(answer.Finish());
    EXPECT_TRUE(accepted->closed());
    EXPECT_TRUE(dialled->closed());
    return greeted ? Error(ErrorCode::kInternal, "welcomed") : greeted.error();
  }
  Error AnswerTo(std::span<const std::byte> bytes) {
    Write(bytes);
    const auto answered = RunTask(loop, Answer(accepted, kListening));
    EXPECT_TRUE(accepted->closed());
    return answered ? Error(ErrorCode::kInternal, "welcomed") : answered.error();
  }

  asio::io_context loop{1};
  SimTransport transport{loop};
  std::unique_ptr<Listener> listener;
  StreamPtr dialled;
  StreamPtr accepted;
};

TEST_F(HandshakeTest, NodesOfOneClusterGetToKnowEachOther) {
  Running<Result<ConnectionPtr>> answer(loop, Answer(accepted, kListening));
  const auto greeted = RunTask(loop, Greet(dialled, kDialling, kListening.self));
  const auto answered = answer.Finish();
  ASSERT_TRUE(greeted) << greeted.error().ToString();
  ASSERT_TRUE(answered) << answered.error().ToString();
  EXPECT_EQ((*greeted)->peer, kListening.self);
  EXPECT_EQ((*answered)->peer, kDialling.self);
  EXPECT_FALSE(dialled->closed());
  EXPECT_TRUE((*greeted)->reader.at_rest());
}

TEST_F(HandshakeTest, OtherClusterIsRefusedInWords) {
  const Error error = Refused(Identity{.cluster = 0xbad, .self = NodeId{1}}, kListening.self);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("cluster 00000000000000c1, not 0000000000000bad"));
}

TEST_F(HandshakeTest, OtherNodeBehindTheSameAddressIsRefusedInWords) {
  const Error error = Refused(kDialling, NodeId{77});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("this is node 0000000000000002, not 000000000000004d"));
}

// Nodes of version 2 take an END for that of all stripes (R64).
TEST_F(HandshakeTest, AnOlderNodeIsRefusedInWords) {
  wire::PeerHello hello(kListening.cluster, kDialling.self, kListening.self);
  hello.protocol_version = 2;
  const Error error = AnswerTo(wire::Encode(hello));
  EXPECT_EQ(error.code, ErrorCode::kProtocol);
  EXPECT_THAT(error.message, HasSubstr("protocol version 2 is not spoken here, only 5"));
  FrameReader reader(dialled);
  const auto welcome = RunTask(loop, reader.Next());
  ASSERT_TRUE(welcome);
  EXPECT_EQ(std::get<wire::PeerWelcome>(*welcome).refusal, wire::Refusal::kProtocolVersion);
}

TEST_F(HandshakeTest, TheWordsOfAnOlderNodeThatRefusesAreHeard) {
  Running<Result<ConnectionPtr>> greet(loop, Greet(dialled, kDialling, kListening.self));
  FrameReader reader(accepted);
  const auto hello = RunTask(loop, reader.Next());
  ASSERT_TRUE(hello);
  EXPECT_EQ(std::get<wire::PeerHello>(*hello).protocol_version, 5);
  wire::PeerWelcome welcome(kListening.cluster, kListening.self);
  welcome.protocol_version = 2;
  welcome.refusal = wire::Refusal::kProtocolVersion;
  welcome.text = "protocol version 5 is not spoken here, only 2";
  ASSERT_TRUE(RunTask(loop, accepted->Send(wire::Encode(welcome), Payload{})));
  const auto greeted = greet.Finish();
  ASSERT_FALSE(greeted);
  EXPECT_EQ(greeted.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(greeted.error().message, HasSubstr(welcome.text));
}

TEST_F(HandshakeTest, GarbageAndWrongMagicEndTheConnection) {
  auto bytes = wire::Encode(wire::PeerHello(kListening.cluster, kDialling.self, kListening.self));
  bytes[wire::kHeaderBytes] = std::byte{'?'};
  EXPECT_THAT(AnswerTo(bytes).message, HasSubstr("magic"));
}

TEST_F(HandshakeTest, AnotherFrameInsteadOfHelloIsRefused) {
  EXPECT_THAT(AnswerTo(wire::Encode(wire::Done{})).message, HasSubstr("done instead of hello"));
}

TEST_F(HandshakeTest, PeerThatSaysNothingIsGivenUp) {
  const auto answered = RunTask(loop, Answer(accepted, kListening, 20ms));
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answered.error().message, HasSubstr("within 0.02 s"));
  EXPECT_TRUE(accepted->closed());
  const auto greeted = RunTask(loop, Greet(dialled, kDialling, kListening.self, 20ms));
  EXPECT_FALSE(greeted) << "its peer has closed";
}

Task<void> Drip(StreamPtr stream) {
  const auto hello =
      wire::Encode(wire::PeerHello(kListening.cluster, kDialling.self, kListening.self));
  asio::steady_timer timer(stream->loop());
  for (const std::byte& byte : hello) {
    const auto sent = co_await stream->Send(std::span(&byte, 1), Payload());
    if (!sent) co_return;
    timer.expires_after(10ms);
    co_await timer.async_wait(asio::use_awaitable_t<asio::io_context::executor_type>());
  }
}

// Each byte is life, but the handshake has one deadline.
TEST_F(HandshakeTest, PeerThatDripsItsHelloIsGivenUp) {
  hoplite::test::Spawn(loop, Drip(dialled));
  const auto answered = RunTask(loop, Answer(accepted, kListening, 60ms));
  ASSERT_FALSE(answered);
  EXPECT_THAT(answered.error().message, HasSubstr("handshake"));
}

TEST_F(HandshakeTest, PeerThatLeavesEndsItAtOnce) {
  Running<Result<ConnectionPtr>> answer(loop, Answer(accepted, kListening));
  dialled->Close();
  const auto answered = answer.Finish();
  ASSERT_FALSE(answered);
  EXPECT_THAT(answered.error().message, HasSubstr("closed by peer"));
}

}  // namespace
}  // namespace hoplite::net
