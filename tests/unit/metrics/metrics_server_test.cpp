// The port, over real sockets.
#include "metrics/metrics_server.h"

#include <atomic>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/http.h"
#include "metrics/http_port.h"

namespace hoplite::metrics {
namespace {

using asio::ip::tcp;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class MetricsServerTest : public testing::Test {
 protected:
  MetricsServerTest() {
    auto started = MetricsServer::Start(
        "127.0.0.1:0", [this] { return Metrics{GaugeOf("scrapes", "Scrapes", ++snapshots_)}; });
    server_ = *std::move(started);
  }

  tcp::socket Connect() {
    tcp::socket socket(loop_);
    const std::string& address = server_->address();
    const auto port = std::stoi(address.substr(address.rfind(':') + 1));
    socket.connect({asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(port)});
    return socket;
  }
  // Until the server closes the connection.
  static std::string ReadAll(tcp::socket& socket) {
    std::string all;
    asio::error_code end;
    asio::read(socket, asio::dynamic_buffer(all), end);
    return all;
  }
  std::string Ask(const std::string& request) {
    tcp::socket socket = Connect();
    asio::write(socket, asio::buffer(request));
    return ReadAll(socket);
  }

  std::atomic<int> snapshots_{0};
  std::unique_ptr<MetricsServer> server_;
  asio::io_context loop_;
};

constexpr const char* kScrape = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(MetricsServerTest, AnswersAScrapeAndClosesTheConnection) {
  const std::string answer = Ask(kScrape);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith("\nscrapes 1\n"));
}

TEST_F(MetricsServerTest, AsksTheMemberOnceASecondAtMost) {
  for (int i = 0; i < 50; ++i) EXPECT_THAT(Ask(kScrape), HasSubstr("\nscrapes "));
  EXPECT_LT(snapshots_, 25);
}

TEST_F(MetricsServerTest, ForAnythingElseTheMemberIsNotAsked) {
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("PUT /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask("\x16\x03\x01 TLS?\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(std::string(kMaxHeadBytes, 'x')), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(snapshots_, 0);
}

TEST_F(MetricsServerTest, ConnectionsThatSayNothingKeepNobodyOut) {
  std::vector<tcp::socket> silent;
  for (std::size_t i = 0; i < 3 * kMaxConnections; ++i) silent.push_back(Connect());
  EXPECT_THAT(Ask(kScrape), EndsWith("\nscrapes 1\n"));
  // The oldest had to go.
  EXPECT_EQ(ReadAll(silent.front()), "");
}

TEST_F(MetricsServerTest, EndsWhileConnectionsAreOpen) {
  tcp::socket silent = Connect();
  tcp::socket begun = Connect();
  asio::write(begun, asio::buffer(std::string("GET /met")));
  server_.reset();
  EXPECT_EQ(ReadAll(silent), "");
  EXPECT_EQ(ReadAll(begun), "");
}

TEST_F(MetricsServerTest, APortInUseIsAnErrorThatNamesIt) {
  const auto second = MetricsServer::Start(server_->address(), [] { return Metrics(); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(server_->address()));
}

}  // namespace
}  // namespace hoplite::metrics
