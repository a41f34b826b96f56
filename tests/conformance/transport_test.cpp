// The contract of Stream and Transport, held to each implementation.
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/units.h"
#include "base/virtual_time.h"
#include "net/tcp_transport.h"
#include "sim/seams/sim_transport.h"
#include "testing/memfd.h"
#include "testing/run_task.h"
#include "testing/tls_folder.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;
using hoplite::test::Memfd;
using hoplite::test::Running;
using hoplite::test::RunTask;
using hoplite::test::RunUntil;
using hoplite::test::Spawn;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

struct Kind {
  const char* name;
  const char* listen;
  const char* nobody;  // an address that nobody listens on
  std::unique_ptr<Transport> (*make)(asio::io_context& loop);
  bool virtual_time = false;
};

std::unique_ptr<Transport> MakeTcp(asio::io_context& loop) {
  return std::make_unique<TcpTransport>(std::vector{&loop});
}
std::unique_ptr<Transport> MakeSendfile(asio::io_context& loop) {
  TcpOptions options;
  options.sendfile = true;
  return std::make_unique<TcpTransport>(std::vector{&loop}, options);
}
std::unique_ptr<Transport> MakeSecured(asio::io_context& loop, const SecurityConfig& config) {
  const auto security = Security::Load(config, TlsRole::kNode, "");
  EXPECT_TRUE(security) << security.error().ToString();
  return std::make_unique<TcpTransport>(std::vector{&loop}, TcpOptions{.security = *security});
}
std::unique_ptr<Transport> MakeCertified(asio::io_context& loop) {
  static const test::TlsFolder folder;
  return MakeSecured(loop, folder.Certificate("node", TlsRole::kNode));
}
std::unique_ptr<Transport> MakeSecret(asio::io_context& loop) {
  static const test::TlsFolder folder;
  return MakeSecured(loop, folder.Secret("secret", "0123456789abcdef"));
}
std::unique_ptr<Transport> MakeSim(asio::io_context& loop) {
  return std::make_unique<SimTransport>(loop);
}
std::unique_ptr<Transport> MakeDelayed(asio::io_context& loop) {
  return std::make_unique<SimTransport>(
      loop, LinkOptions{.latency = 200us, .jitter = 200us, .bytes_per_second = 1'000'000'000});
}

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

Bytes RandomBytes(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

ErrorCode CodeOf(const auto& result) { return result ? ErrorCode{} : result.error().code; }

struct TransportTest : ::testing::TestWithParam<Kind> {
  void SetUp() override {
    if (GetParam().virtual_time) time.emplace();
    transport = GetParam().make(loop);
    auto listening = transport->Listen(
        GetParam().listen, [this](StreamPtr stream) { accepted.push_back(std::move(stream)); });
    if (!listening) GTEST_SKIP() << listening.error().ToString();
    listener = *std::move(listening);
  }
  Result<StreamPtr> Connect() {
    return RunTask(loop, transport->Connect(listener->address(), 10s));
  }
  // The two ends of a new stream: near (dialled) and far (accepted).
  std::pair<StreamPtr, StreamPtr> Pair() {
    const std::size_t before = accepted.size();
    const auto near = Connect();
    EXPECT_TRUE(near) << near.error().ToString();
    EXPECT_TRUE(RunUntil(loop, [&] { return accepted.size() > before; }));
    return {*near, accepted.back()};
  }
  Result<void> Send(const StreamPtr& stream, std::span<const std::byte> bytes) {
    return RunTask(loop, stream->Send(bytes, Payload{}));
  }

  std::optional<VirtualTime> time;
  asio::io_context loop{1};
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Listener> listener;
  std::vector<StreamPtr> accepted;
};

TEST_P(TransportTest, BytesOfAnySizeArriveUnchanged) {
  const auto [near, far] = Pair();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, 64_KiB - 1, 64_KiB + 1, 1_MiB, 5_MiB + 3}) {
    const Bytes sent = RandomBytes(size);
    Running<Result<void>> sending(loop, near->Send(sent, Payload{}));
    Bytes got(size);
    ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
    ASSERT_TRUE(sending.Finish());
    ASSERT_TRUE(got == sent) << size;
  }
}

TEST_P(TransportTest, BothDirectionsFlowAtOnce) {
  const auto [near, far] = Pair();
  const Bytes sent = RandomBytes(4_MiB);
  Bytes there(sent.size());
  Bytes back(sent.size());
  Running<Result<void>> a(loop, near->Send(sent, Payload{}));
  Running<Result<void>> b(loop, far->Send(sent, Payload{}));
  Running<Result<void>> c(loop, ReceiveAll(near, back));
  Running<Result<void>> d(loop, ReceiveAll(far, there));
  EXPECT_TRUE(a.Finish() && b.Finish() && c.Finish() && d.Finish());
  EXPECT_TRUE(there == sent && back == sent);
}

TEST_P(TransportTest, HeadComesBeforeThePayloadOfADescriptor) {
  const auto [near, far] = Pair();
  const Bytes file = RandomBytes(3_MiB);
  const Memfd memory(file);
  const Bytes head = RandomBytes(37);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, 64_KiB, 1_MiB, 2_MiB + 1}) {
    const std::uint64_t offset = 4096 + 5;
    const Payload payload{std::span(file).subspan(offset, size), memory.descriptor(), offset};
    Running<Result<void>> sending(loop, near->Send(head, payload));
    Bytes got(head.size() + size);
    ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
    ASSERT_TRUE(sending.Finish());
    ASSERT_TRUE(std::equal(head.begin(), head.end(), got.begin())) << size;
    ASSERT_TRUE(std::equal(payload.bytes.begin(), payload.bytes.end(), got.begin() + 37)) << size;
  }
}

TEST_P(TransportTest, ManyPiecesComeOneBehindTheOther) {
  const auto [near, far] = Pair();
  const Bytes bytes = RandomBytes(300'000);
  Bytes sent;
  std::vector<Outgoing> pieces;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::span<const std::byte> all(bytes);
    pieces.push_back({all.subspan(i, i % 3 * 17), {all.subspan(7 * i, i % 4 * (1000 + i * i))}});
    for (const auto part : {pieces.back().head, pieces.back().payload.bytes})
      sent.insert(sent.end(), part.begin(), part.end());
  }
  Running<Result<void>> sending(loop, near->SendMany(pieces));
  Bytes got(sent.size());
  ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
  ASSERT_TRUE(sending.Finish());
  EXPECT_TRUE(got == sent);
}

TEST_P(TransportTest, WhatDoesNotFitMayComeBehind) {
  const auto [near, far] = Pair();
  const Bytes sent = RandomBytes(1000);
  ASSERT_TRUE(Send(near, sent));
  Bytes got;
  while (got.size() < sent.size()) {
    Bytes first(300);
    Bytes behind(80);
    const auto count = RunTask(loop, far->ReceiveOn(first, behind));
    ASSERT_TRUE(count);
    ASSERT_GE(*count, 1u);
    first.insert(first.end(), behind.begin(), behind.end());
    ASSERT_LE(*count, first.size());
    got.insert(got.end(), first.begin(), first.begin() + static_cast<long>(*count));
  }
  EXPECT_TRUE(got == sent);
}

TEST_P(TransportTest, AStreamGoesOnOnAnotherLoop) {
  const auto [near, far] = Pair();
  const Bytes sent = RandomBytes(100'000);
  Bytes got(sent.size());
  {
    Running<Result<void>> sending(loop, near->Send(sent, Payload{}));
    ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
    ASSERT_TRUE(sending.Finish());
  }
  asio::io_context other(1);
  const StreamPtr moved = far->MoveTo(other);
  EXPECT_EQ(far->closed(), moved != nullptr);
  if (!moved) return;  // it stays

  EXPECT_EQ(&moved->loop(), &other);
  EXPECT_EQ(moved->peer_address(), far->peer_address());
  far->Close();  // leaves the connection open
  ASSERT_TRUE(Send(near, std::span(sent).first(1000)));
  Bytes there(1000);
  ASSERT_TRUE(RunTask(other, ReceiveAll(moved, there)));
  EXPECT_TRUE(std::equal(there.begin(), there.end(), sent.begin()));
  ASSERT_TRUE(RunTask(other, moved->Send(std::span(sent).first(500), Payload{})));
  Bytes back(500);
  ASSERT_TRUE(RunTask(loop, ReceiveAll(near, back)));
  EXPECT_TRUE(std::equal(back.begin(), back.end(), sent.begin()));
  moved->Close();
  EXPECT_EQ(CodeOf(RunTask(loop, near->ReceiveSome(back))), ErrorCode::kUnavailable);
  EXPECT_EQ(far->MoveTo(other), nullptr) << "it is closed";
}

TEST_P(TransportTest, ReceiveSomeGivesWhatHasArrived) {
  const auto [near, far] = Pair();
  const Bytes sent = RandomBytes(10);
  ASSERT_TRUE(Send(near, sent));
  Bytes got(100);
  const auto count = RunTask(loop, far->ReceiveSome(got));
  ASSERT_TRUE(count);
  EXPECT_GE(*count, 1u);
  EXPECT_LE(*count, sent.size());
  EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + static_cast<long>(*count), got.begin()));
}

TEST_P(TransportTest, WhatCameBeforeTheEndIsReceivedThenClosedByPeer) {
  const auto [near, far] = Pair();
  const Bytes sent = RandomBytes(1000);
  ASSERT_TRUE(Send(near, sent));
  near->Close();
  Bytes got(600);
  EXPECT_TRUE(RunTask(loop, ReceiveAll(far, got)));
  const auto cut = RunTask(loop, ReceiveAll(far, got));
  ASSERT_EQ(CodeOf(cut), ErrorCode::kUnavailable);
  EXPECT_THAT(cut.error().message, HasSubstr("closed by peer " + far->peer_address()));
}

TEST_P(TransportTest, CloseCancelsAPendingReceive) {
  const auto [near, far] = Pair();
  Bytes got(10);
  Running<Result<void>> receiving(loop, ReceiveAll(far, got));
  loop.restart();
  loop.poll();
  ASSERT_FALSE(receiving.done());
  far->Close();
  EXPECT_EQ(CodeOf(receiving.Finish()), ErrorCode::kCancelled);
  EXPECT_TRUE(far->closed());
}

TEST_P(TransportTest, CloseCancelsAPendingSend) {
  const auto [near, far] = Pair();
  const Bytes sent(64_MiB);  // more than the buffers of both ends hold
  Running<Result<void>> sending(loop, near->Send(sent, Payload{}));
  loop.restart();
  loop.run_for(20ms);
  ASSERT_FALSE(sending.done());
  near->Close();
  EXPECT_EQ(CodeOf(sending.Finish()), ErrorCode::kCancelled);
}

TEST_P(TransportTest, AfterCloseEveryCallIsCancelled) {
  const auto [near, far] = Pair();
  near->Close();
  near->Close();
  Bytes bytes(10);
  EXPECT_EQ(CodeOf(Send(near, bytes)), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(RunTask(loop, ReceiveAll(near, bytes))), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(RunTask(loop, near->ReceiveSome(bytes))), ErrorCode::kCancelled);
}

// Also by sendfile, which could raise SIGPIPE and so end the process.
TEST_P(TransportTest, SendingToAPeerThatClosedIsUnavailable) {
  const Bytes file(1_MiB);
  const Memfd memory(file);
  for (const int descriptor : {-1, memory.descriptor()}) {
    const auto [near, far] = Pair();
    far->Close();
    Result<void> sent;
    for (int i = 0; i < 100 && sent; ++i) {
      sent = RunTask(loop, near->Send({}, Payload{file, descriptor, 0}));
    }
    EXPECT_EQ(CodeOf(sent), ErrorCode::kUnavailable);
  }
}

TEST_P(TransportTest, ConnectingToNobodyNamesTheAddress) {
  const auto refused = RunTask(loop, transport->Connect(GetParam().nobody, 10s));
  ASSERT_EQ(CodeOf(refused), ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr(GetParam().nobody));
}

TEST_P(TransportTest, StoppedListenerTakesNobody) {
  const auto [near, far] = Pair();
  const std::string address = listener->address();
  listener->Stop();
  loop.restart();
  loop.poll();
  EXPECT_EQ(CodeOf(RunTask(loop, transport->Connect(address, 10s))), ErrorCode::kUnavailable);
  ASSERT_TRUE(Send(near, RandomBytes(3)));
  Bytes got(3);
  EXPECT_TRUE(RunTask(loop, ReceiveAll(far, got))) << "accepted streams live on";
}

TEST_P(TransportTest, QuietTellsWhetherAnIdleStreamMayBeUsedAgain) {
  const auto [near, far] = Pair();
  EXPECT_TRUE(near->quiet());
  ASSERT_TRUE(Send(near, RandomBytes(3)));
  EXPECT_TRUE(RunUntil(loop, [&] { return !far->quiet(); })) << "bytes wait";
  Bytes got(3);
  ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
  EXPECT_TRUE(far->quiet());
  far->Close();
  EXPECT_FALSE(far->quiet());
  EXPECT_TRUE(RunUntil(loop, [&] { return !near->quiet(); })) << "the peer has gone";
}

TEST_P(TransportTest, LastReceivedFollowsTheBytes) {
  const auto [near, far] = Pair();
  const Time before = Now();
  ASSERT_TRUE(Send(near, RandomBytes(3)));
  Bytes got(3);
  ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
  EXPECT_GE(far->last_received(), before);
  EXPECT_LE(far->last_received(), Now());
}

Task<void> SendAll(StreamPtr stream, std::size_t total) {
  const Bytes bytes(1_MiB);
  for (std::size_t sent = 0; sent < total; sent += bytes.size()) {
    const auto done = co_await stream->Send(bytes, Payload());
    if (!done) co_return;
  }
}

Task<void> Count(StreamPtr stream, std::size_t& received) {
  Bytes bytes(1_MiB);
  while (true) {
    const auto count = co_await stream->ReceiveSome(bytes);
    if (!count) co_return;
    received += *count;
  }
}

TEST_P(TransportTest, TwoStreamsShareALoopFairly) {
  constexpr std::size_t kTotal = 24_MiB;
  std::array<std::size_t, 2> received{};
  std::vector<StreamPtr> streams;
  for (std::size_t& count : received) {
    const auto [near, far] = Pair();
    Spawn(loop, SendAll(near, kTotal));
    Spawn(loop, Count(far, count));
    streams.insert(streams.end(), {near, far});
  }
  ASSERT_TRUE(RunUntil(loop, [&] { return std::max(received[0], received[1]) == kTotal; }));
  EXPECT_GE(std::min(received[0], received[1]), kTotal / 4);
  for (const auto& stream : streams) stream->Close();
  loop.restart();
  loop.poll();
}

TEST_P(TransportTest, ManyThatComeAndGoDisturbNobody) {
  const auto [near, far] = Pair();
  const Bytes garbage = RandomBytes(100);
  for (int i = 0; i < 200; ++i) {
    const auto visitor = Connect();
    ASSERT_TRUE(visitor) << i << ' ' << visitor.error().ToString();
    if (i % 2 == 0) {
      ASSERT_TRUE(Send(*visitor, garbage));
    }
    (*visitor)->Close();
    const Bytes sent = RandomBytes(1000);
    Bytes got(sent.size());
    ASSERT_TRUE(Send(near, sent));
    ASSERT_TRUE(RunTask(loop, ReceiveAll(far, got)));
    ASSERT_TRUE(got == sent);
  }
  EXPECT_TRUE(RunUntil(loop, [&] { return accepted.size() == 201; }));
}

INSTANTIATE_TEST_SUITE_P(
    All, TransportTest,
    ::testing::Values(Kind{"TcpV4", "127.0.0.1:0", "127.0.0.1:1", MakeTcp},
                      Kind{"TcpV6", "[::1]:0", "[::1]:1", MakeTcp},
                      Kind{"TcpSendfile", "127.0.0.1:0", "127.0.0.1:1", MakeSendfile},
                      Kind{"Certificates", "127.0.0.1:0", "127.0.0.1:1", MakeCertified},
                      Kind{"Secret", "[::1]:0", "[::1]:1", MakeSecret},
                      Kind{"Sim", "sim:0", "sim:nobody", MakeSim},
                      Kind{"SimDelayed", "sim:0", "sim:nobody", MakeDelayed},
                      Kind{"SimDelayedInVirtualTime", "sim:0", "sim:nobody", MakeDelayed, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hoplite::net
