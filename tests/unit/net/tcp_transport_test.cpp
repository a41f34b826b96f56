// What TCP adds to the contract of transports: several loops, host names, time limits, rates.
#include "net/tcp_transport.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <asio/executor_work_guard.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "testing/run_task.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;
using hoplite::test::Running;
using hoplite::test::RunTask;
using hoplite::test::RunUntil;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

// A loop with a thread of its own.
struct Threaded {
  ~Threaded() {
    loop.stop();
    thread.join();
  }
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
  std::thread thread{[this] { loop.run(); }};
};

TEST(TcpTransport, AcceptedStreamsGoToTheLoopsInTurns) {
  Threaded one;
  Threaded two;
  asio::io_context loop(1);
  std::atomic<int> on_one = 0;
  std::atomic<int> on_two = 0;
  std::atomic<int> misplaced = 0;
  TcpTransport transport({&one.loop, &two.loop});
  const auto listener = *transport.Listen("127.0.0.1:0", [&](const StreamPtr& stream) {
    ++(&stream->loop() == &one.loop ? on_one : on_two);
    if (!stream->loop().get_executor().running_in_this_thread()) ++misplaced;
  });
  for (int i = 0; i < 10; ++i) {
    const auto stream = RunTask(loop, transport.Connect(listener->address(), 10s));
    ASSERT_TRUE(stream);
    EXPECT_EQ(&(*stream)->loop(), &loop) << "dialled streams belong to the caller's loop";
  }
  EXPECT_TRUE(RunUntil(loop, [&] { return on_one == 5 && on_two == 5; }));
  EXPECT_EQ(misplaced, 0);
}

// The kernel measures it, so it does not matter whether the other end reads or answers.
TEST(TcpTransport, ARoundTripIsTheNetworksAlone) {
  asio::io_context loop(1);
  TcpTransport transport({&loop});
  const auto listener = *transport.Listen("127.0.0.1:0", [](const StreamPtr&) {});
  const auto stream = RunTask(loop, transport.Connect(listener->address(), 10s));
  ASSERT_TRUE(stream);
  EXPECT_GT((*stream)->round_trip(), Duration{0});
  EXPECT_LT((*stream)->round_trip(), 1s);
  (*stream)->Close();
  EXPECT_EQ((*stream)->round_trip(), Duration{0});
}

TEST(TcpTransport, HostNamesAreResolved) {
  asio::io_context loop(1);
  TcpTransport transport({&loop});
  const auto listener = transport.Listen("localhost:0", [](const StreamPtr&) {});
  ASSERT_TRUE(listener) << listener.error().ToString();
  const std::string address = (*listener)->address();
  const std::string port = address.substr(address.rfind(':'));
  EXPECT_TRUE(RunTask(loop, transport.Connect("localhost" + port, 10s)));
}

TEST(TcpTransport, BadAddressesAreNamed) {
  asio::io_context loop(1);
  TcpTransport transport({&loop});
  const auto connected = RunTask(loop, transport.Connect("nonsense", 1s));
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message, HasSubstr("'nonsense' is no address"));
  EXPECT_FALSE(transport.Listen("127.0.0.1", [](const StreamPtr&) {}));
  const auto first = transport.Listen("127.0.0.1:0", [](const StreamPtr&) {});
  ASSERT_TRUE(first);
  const auto second = transport.Listen((*first)->address(), [](const StreamPtr&) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr((*first)->address()));
}

// A listener of the kernel whose queue is full: it answers nobody.
class FullListener {
 public:
  FullListener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ::listen(socket_, 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    for (int& waiting : queue_) {
      waiting = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      const int connected = ::connect(waiting, reinterpret_cast<sockaddr*>(&address), size);
      EXPECT_TRUE(connected == 0 || errno == EINPROGRESS);
    }
  }
  ~FullListener() {
    for (const int waiting : queue_) ::close(waiting);
    ::close(socket_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  const int socket_;
  int port_ = 0;
  std::array<int, 4> queue_{};
};

TEST(TcpTransport, ConnectEndsAtItsTimeout) {
  asio::io_context loop(1);
  TcpTransport transport({&loop});
  const FullListener full;
  const auto late = RunTask(loop, transport.Connect(full.address(), 50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(late.error().message, HasSubstr(full.address()));
  EXPECT_THAT(late.error().message, HasSubstr("timed out"));
}

// Descriptors run out for a while: connections that came meanwhile are accepted afterwards.
TEST(TcpTransport, ListenerSurvivesRunningOutOfDescriptors) {
  log::SetLevel(log::Level::kOff);
  asio::io_context loop(1);
  TcpTransport transport({&loop});
  int accepted = 0;
  const auto listener =
      *transport.Listen("127.0.0.1:0", [&accepted](const StreamPtr&) { ++accepted; });
  ASSERT_TRUE(RunTask(loop, transport.Connect(listener->address(), 10s)));
  ASSERT_TRUE(RunUntil(loop, [&] { return accepted == 1; }));

  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  // One descriptor is left: the connecting side takes it.
  const int free = ::dup(0);
  ::close(free);
  const rlimit tight{static_cast<rlim_t>(free) + 1, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  Running<Result<StreamPtr>> connecting(loop, transport.Connect(listener->address(), 10s));
  loop.restart();
  loop.run_for(30ms);
  EXPECT_EQ(accepted, 1);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_TRUE(connecting.Finish());
  EXPECT_TRUE(RunUntil(loop, [&] { return accepted == 2; }));
  log::SetLevel(log::Level::kWarn);
}

#if !__has_feature(undefined_behavior_sanitizer)  // its checks take descriptors of their own
// Neither end of a connection finds a descriptor until an idle stream is given up.
TEST(TcpTransport, WhatRestsIsGivenUpForANewConnection) {
  log::SetLevel(log::Level::kError);
  asio::io_context loop(1);
  TcpTransport transport({&loop});
  std::vector<int> resting;
  transport.OnScarcity([&resting] {
    if (resting.empty()) return;
    ::close(resting.back());
    resting.pop_back();
  });
  int accepted = 0;
  const auto listener =
      *transport.Listen("127.0.0.1:0", [&accepted](const StreamPtr&) { ++accepted; });
  for (int i = 0; i < 2; ++i) resting.push_back(::dup(0));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int free = ::dup(0);
  ::close(free);
  const rlimit tight{static_cast<rlim_t>(free), limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  EXPECT_TRUE(RunTask(loop, transport.Connect(listener->address(), 10s)));
  EXPECT_TRUE(RunUntil(loop, [&] { return accepted == 1; }));
  ::setrlimit(RLIMIT_NOFILE, &limit);
  log::SetLevel(log::Level::kWarn);
  EXPECT_TRUE(resting.empty());
}
#endif

struct RateTest : ::testing::TestWithParam<bool> {};

// Not faster than the limit; how much slower is the machine's business.
TEST_P(RateTest, StreamsTogetherKeepToTheLimit) {
  constexpr std::uint64_t kRate = 20'000'000;
  constexpr std::size_t kEach = 1_MiB;
  TcpOptions options;
  (GetParam() ? options.send_limit : options.receive_limit) = std::make_shared<RateLimiter>(kRate);
  asio::io_context loop(1);
  TcpTransport transport({&loop}, options);
  std::vector<StreamPtr> accepted;
  const auto listener =
      *transport.Listen("127.0.0.1:0", [&](StreamPtr stream) { accepted.push_back(stream); });
  std::array<StreamPtr, 2> dialled;
  for (StreamPtr& stream : dialled) {
    stream = *RunTask(loop, transport.Connect(listener->address(), 10s));
  }
  ASSERT_TRUE(RunUntil(loop, [&] { return accepted.size() == 2; }));
  const Bytes sent(kEach);
  Bytes first(kEach);
  Bytes second(kEach);
  const Time start = std::chrono::steady_clock::now();
  Running<Result<void>> a(loop, dialled[0]->Send(sent, Payload{}));
  Running<Result<void>> b(loop, dialled[1]->Send(sent, Payload{}));
  Running<Result<void>> c(loop, ReceiveAll(accepted[0], first));
  Running<Result<void>> d(loop, ReceiveAll(accepted[1], second));
  EXPECT_TRUE(a.Finish() && b.Finish() && c.Finish() && d.Finish());
  const double seconds = ToSeconds(std::chrono::steady_clock::now() - start);
  EXPECT_GE(seconds, 0.95 * (2.0 * kEach - 64_KiB) / kRate);
}

// One connection over a transport with these options, all on one loop.
struct OneConnection {
  explicit OneConnection(const TcpOptions& options) : transport({&loop}, options) {
    listener = *transport.Listen("127.0.0.1:0", [this](StreamPtr stream) { far = stream; });
    near = *RunTask(loop, transport.Connect(listener->address(), 10s));
    EXPECT_TRUE(RunUntil(loop, [this] { return far != nullptr; }));
  }

  asio::io_context loop{1};
  TcpTransport transport;
  std::unique_ptr<Listener> listener;
  StreamPtr near;
  StreamPtr far;
};

TEST(RateOfMany, AStreamWithNothingToReadTakesNothingOfTheLimit) {
  TcpOptions options;
  options.receive_limit = std::make_shared<RateLimiter>(100);
  OneConnection one(options);
  Bytes got(1000);
  Running<Result<std::size_t>> receiving(one.loop, one.far->ReceiveSome(got));
  one.loop.restart();
  one.loop.run_for(20ms);
  const Time now = std::chrono::steady_clock::now();
  const Time untouched = RateLimiter(100).Take(1, now);
  EXPECT_EQ(options.receive_limit->Take(1, now), untouched);
  one.far->Close();
  EXPECT_FALSE(receiving.Finish());
}

TEST_P(RateTest, CloseDoesNotWaitForTheLimit) {
  TcpOptions options;
  (GetParam() ? options.send_limit : options.receive_limit) = std::make_shared<RateLimiter>(100);
  OneConnection one(options);
  const Bytes sent(64_KiB);  // at this rate ten minutes
  Bytes got(sent.size());
  Running<Result<void>> sending(one.loop, one.near->Send(sent, Payload{}));
  Running<Result<void>> receiving(one.loop, ReceiveAll(one.far, got));
  one.loop.restart();
  one.loop.run_for(20ms);
  one.near->Close();
  one.far->Close();
  EXPECT_EQ(GetParam(), !sending.Finish()) << "64 KiB fit into the kernel's buffers";
  EXPECT_FALSE(receiving.Finish());
}

INSTANTIATE_TEST_SUITE_P(Direction, RateTest, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Send" : "Receive"; });

}  // namespace
}  // namespace hoplite::net
