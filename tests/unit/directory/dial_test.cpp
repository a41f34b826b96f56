// Names with several addresses, of which the first does not answer.
#include "directory/dial.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include "net/resolve.h"
#include "net/tcp_stream.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;
using Tcp = asio::ip::tcp;

const Tcp::endpoint kLoopback(asio::ip::address_v4::loopback(), 0);

// Listens, but the kernel drops what comes: the queue of connections that nobody takes is full.
class SilentHost {
 public:
  explicit SilentHost(asio::io_context& loop) : door_(loop) {
    door_.open(Tcp::v4());
    door_.bind(kLoopback);
    door_.listen(0);
    for (int i = 0; i < 8; ++i) {
      waiting_.emplace_back(loop).async_connect(endpoint(), [](const asio::error_code&) {});
    }
    loop.run_for(50ms);
    loop.restart();
  }
  Tcp::endpoint endpoint() const { return door_.local_endpoint(); }

 private:
  Tcp::acceptor door_;
  std::vector<Tcp::socket> waiting_;
};

std::optional<Result<net::TcpSocket>> Dialled(asio::io_context& loop, net::Endpoints endpoints) {
  std::optional<Result<net::TcpSocket>> outcome;
  const auto dial = Dial::Start(loop, std::move(endpoints), [&](Result<net::TcpSocket> made) {
    outcome = std::move(made);
    loop.stop();
  });
  loop.run_for(10s);
  loop.restart();
  dial->Cancel();
  return outcome;
}

TEST(DialTest, AnAddressThatIsSilentMakesRoomForTheNext) {
  asio::io_context loop;
  const SilentHost silent(loop);
  const Tcp::acceptor answers(loop, kLoopback);
  const auto outcome = Dialled(loop, {silent.endpoint(), answers.local_endpoint()});
  ASSERT_TRUE(outcome.has_value()) << "it waits for the first one";
  ASSERT_TRUE(outcome->has_value()) << outcome->error().message;
  EXPECT_EQ((*outcome)->remote_endpoint(), answers.local_endpoint());
}

TEST(DialTest, TheErrorNamesTheLastAddress) {
  asio::io_context loop;
  const SilentHost silent(loop);
  Tcp::endpoint closed;
  {
    const Tcp::acceptor gone(loop, kLoopback);
    closed = gone.local_endpoint();
  }
  const auto outcome = Dialled(loop, {silent.endpoint(), closed});
  ASSERT_TRUE(outcome.has_value());
  ASSERT_FALSE(outcome->has_value());
  EXPECT_NE(outcome->error().message.find(net::ToString(closed)), std::string::npos)
      << outcome->error().message;
}

// Whoever dials may be held by what it is to call, and holds the dial.
TEST(DialTest, LetsItsFunctionsGoWhenItEnds) {
  for (const bool cancelled : {false, true}) {
    asio::io_context loop;
    const Tcp::acceptor answers(loop, kLoopback);
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> holder = held;
    const auto dial = Dial::Start(
        loop, net::ToString(answers.local_endpoint()),
        [held, &loop](const Result<net::TcpSocket>& /*made*/) { loop.stop(); }, [held] {});
    held.reset();
    if (cancelled) dial->Cancel();
    loop.run_for(10s);
    EXPECT_TRUE(holder.expired()) << cancelled;
  }
}

TEST(DialTest, EachAddressHasItsShareOfTheTime) {
  const Time now{};
  EXPECT_EQ(net::Share(now, now + 900ms, 3), now + 300ms);
  EXPECT_EQ(net::Share(now + 300ms, now + 900ms, 2), now + 600ms);
  EXPECT_EQ(net::Share(now + 600ms, now + 900ms, 1), now + 900ms);
  EXPECT_EQ(net::Share(now, now + 100s, 2), now + 300ms);
  EXPECT_EQ(net::Share(now, kNever, 2), now + 300ms);
  EXPECT_EQ(net::Share(now, kNever, 1), kNever);
}

}  // namespace
}  // namespace hoplite::directory
