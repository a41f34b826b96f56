#include "net/connection_pool.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/tcp_transport.h"
#include "testing/run_task.h"

namespace hoplite::net {
namespace {

using namespace std::chrono_literals;
using hoplite::test::RunTask;
using hoplite::test::RunUntil;
using ::testing::HasSubstr;

constexpr Identity kClient{.cluster = 1, .self = NodeId{1}};
constexpr Identity kServer{.cluster = 1, .self = NodeId{2}};

// A server that greets everybody and keeps the connections.
struct ConnectionPoolTest : ::testing::Test {
  ConnectionPoolTest() {
    listener = *transport.Listen(
        "127.0.0.1:0", [this](StreamPtr stream) { hoplite::test::Spawn(loop, Serve(stream)); });
    address = listener->address();
  }
  ~ConnectionPoolTest() override {
    for (const auto& connection : served) connection->stream->Close();
  }
  Task<void> Serve(StreamPtr stream) {
    auto answered = co_await Answer(stream, kServer);
    if (answered) served.push_back(*answered);
  }
  ConnectionPtr Take(ConnectionPool& pool) {
    auto taken = RunTask(loop, pool.Take(address, kServer.self));
    EXPECT_TRUE(taken) << taken.error().ToString();
    return taken ? *taken : nullptr;
  }

  asio::io_context loop{1};
  TcpTransport transport{{&loop}};
  std::unique_ptr<Listener> listener;
  std::string address;
  std::vector<ConnectionPtr> served;
};

TEST_F(ConnectionPoolTest, ReturnedConnectionIsUsedAgain) {
  ConnectionPool pool(loop, transport, kClient);
  auto first = Take(pool);
  Connection* const raw = first.get();
  pool.Return(std::move(first));
  EXPECT_EQ(pool.idle_count(), 1u);
  EXPECT_EQ(Take(pool).get(), raw);
  EXPECT_EQ(pool.idle_count(), 0u);
  EXPECT_EQ(served.size(), 1u);
}

TEST_F(ConnectionPoolTest, IdleOnesAreGivenUpAndThoseInUseAreNot) {
  ConnectionPool pool(loop, transport, kClient);
  auto idle = Take(pool);
  const auto used = Take(pool);
  const StreamPtr stream = idle->stream;
  pool.Return(std::move(idle));
  pool.CloseIdle();
  EXPECT_EQ(pool.idle_count(), 0u);
  EXPECT_TRUE(stream->closed());
  EXPECT_TRUE(used->stream->quiet());
}

TEST_F(ConnectionPoolTest, EachTakeInUseHasItsOwn) {
  ConnectionPool pool(loop, transport, kClient);
  EXPECT_NE(Take(pool), Take(pool));
  ASSERT_TRUE(RunUntil(loop, [&] { return served.size() == 2; }));
}

TEST_F(ConnectionPoolTest, OneThatThePeerClosedMeanwhileIsNotHandedOut) {
  ConnectionPool pool(loop, transport, kClient);
  auto first = Take(pool);
  Stream* const raw = first->stream.get();
  const StreamPtr keep = first->stream;
  pool.Return(std::move(first));
  ASSERT_TRUE(RunUntil(loop, [&] { return served.size() == 1; }));
  served.front()->stream->Close();
  ASSERT_TRUE(RunUntil(loop, [&] { return !keep->quiet(); }));
  const auto second = Take(pool);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(second->stream.get(), raw);
  EXPECT_TRUE(keep->closed());
}

TEST_F(ConnectionPoolTest, OneWithBytesThatNobodyAskedForIsClosed) {
  ConnectionPool pool(loop, transport, kClient);
  auto first = Take(pool);
  const StreamPtr stream = first->stream;
  ASSERT_TRUE(RunUntil(loop, [&] { return served.size() == 1; }));
  ASSERT_TRUE(RunTask(loop, served.front()->Send(wire::KeepAlive{1})));
  ASSERT_TRUE(RunUntil(loop, [&] { return !stream->quiet(); }));
  pool.Return(std::move(first));
  EXPECT_TRUE(stream->closed());
  EXPECT_EQ(pool.idle_count(), 0u);
}

TEST_F(ConnectionPoolTest, KeepsNoMoreThanItsLimit) {
  PoolOptions options;
  options.idle_per_peer = 2;
  ConnectionPool pool(loop, transport, kClient, options);
  std::vector<ConnectionPtr> taken{Take(pool), Take(pool), Take(pool)};
  const StreamPtr last = taken.back()->stream;
  for (auto& connection : taken) pool.Return(std::move(connection));
  EXPECT_EQ(pool.idle_count(), 2u);
  EXPECT_TRUE(last->closed());
}

TEST_F(ConnectionPoolTest, IdleOnesEndAfterTheirTime) {
  PoolOptions options;
  options.idle_limit = 20ms;
  ConnectionPool pool(loop, transport, kClient, options);
  auto taken = Take(pool);
  const StreamPtr stream = taken->stream;
  pool.Return(std::move(taken));
  EXPECT_TRUE(RunUntil(loop, [&] { return pool.idle_count() == 0; }));
  EXPECT_TRUE(stream->closed());
}

TEST_F(ConnectionPoolTest, StopClosesAll) {
  ConnectionPool pool(loop, transport, kClient);
  auto idle = Take(pool);
  auto busy = Take(pool);
  const StreamPtr idle_stream = idle->stream;
  const StreamPtr busy_stream = busy->stream;
  pool.Return(std::move(idle));
  pool.Stop();
  EXPECT_TRUE(idle_stream->closed());
  EXPECT_FALSE(busy_stream->closed()) << "its user closes or returns it";
  pool.Return(std::move(busy));
  EXPECT_TRUE(busy_stream->closed());
  const auto refused = RunTask(loop, pool.Take(address, kServer.self));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
}

TEST_F(ConnectionPoolTest, StopEndsAHandshakeThatHangs) {
  StreamPtr silent;
  const auto mute = *transport.Listen("127.0.0.1:0", [&](StreamPtr stream) { silent = stream; });
  ConnectionPool pool(loop, transport, kClient);
  hoplite::test::Running<Result<ConnectionPtr>> taking(loop, pool.Take(mute->address(), NodeId{3}));
  ASSERT_TRUE(RunUntil(loop, [&] { return silent != nullptr && !silent->quiet(); }));
  EXPECT_FALSE(taking.done());
  pool.Stop();
  const auto taken = taking.Finish();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kCancelled);
}

TEST_F(ConnectionPoolTest, AnotherNodeAtTheAddressIsNamed) {
  ConnectionPool pool(loop, transport, kClient);
  const auto taken = RunTask(loop, pool.Take(address, NodeId{9}));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(taken.error().message, HasSubstr("this is node"));
}

TEST_F(ConnectionPoolTest, NobodyAtTheAddressIsUnavailable) {
  listener->Stop();
  loop.restart();
  loop.poll();
  ConnectionPool pool(loop, transport, kClient);
  const auto taken = RunTask(loop, pool.Take(address, kServer.self));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(taken.error().message, HasSubstr(address));
}

}  // namespace
}  // namespace hoplite::net
