// Nodes and shards of different versions of the directory protocol: each is told in words why it
// can't join.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/directory_cluster.h"
#include "testing/directory_node.h"
#include "testing/raw_session.h"

namespace hoplite::directory {
namespace {

constexpr char kLocal[] = "127.0.0.1:0";

// A shard that says these bytes to whoever connects.
class PlayedShard {
 public:
  explicit PlayedShard(std::string bytes) : bytes_(std::move(bytes)) {
    Accept();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~PlayedShard() {
    loop_.stop();
    thread_.join();
  }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](const asio::error_code& error, asio::ip::tcp::socket socket) {
      if (error) return;
      asio::write(socket, asio::buffer(bytes_));
      sockets_.push_back(std::move(socket));
      Accept();
    });
  }

  const std::string bytes_;
  asio::io_context loop_;
  asio::ip::tcp::acceptor acceptor_{loop_, {asio::ip::make_address("127.0.0.1"), 0}};
  std::vector<asio::ip::tcp::socket> sockets_;
  std::thread thread_;
};

// A shard of another version compares the number in the Hello and ends the session.
TEST(OtherProtocol, AnotherShardRefusesANodeInWords) {
  v1::ShardMessage refusal;
  refusal.mutable_ended()->set_code(static_cast<std::uint32_t>(ErrorCode::kInvalidArgument));
  refusal.mutable_ended()->set_message("node 'n1' speaks another version");
  const PlayedShard shard(test::RawSession::Frame(refusal));
  test::DirectoryNode node(NodeId{1}, "n1", [&](asio::io_context& loop) {
    return MakeTcpDirectoryClient(loop, {.shards = {shard.address()}});
  });
  node.Start();
  ASSERT_TRUE(node.WaitFor([&] { return !node.refusals().empty(); }));
  EXPECT_EQ(node.refusals().front().message, "node 'n1' speaks another version");
}

// What a server of gRPC says first: SETTINGS.
TEST(OtherProtocol, AnOlderShardIsNamedByItsNode) {
  const PlayedShard shard(std::string("\0\0\6\4\0\0\0\0\0\0\5\0\0\x40\0", 15));
  test::DirectoryNode node(NodeId{1}, "n1", [&](asio::io_context& loop) {
    return MakeTcpDirectoryClient(loop, {.shards = {shard.address()}});
  });
  const auto status = node.Status(0);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("it speaks gRPC"));
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("older version"));
}

TEST(OtherProtocol, AnotherNodeIsRefusedInWords) {
  auto options = test::DirectoryCluster::Patient();
  options.listen = kLocal;
  const auto shard = DirectoryServer::Start(options);
  ASSERT_TRUE(shard) << shard.error().ToString();
  test::RawSession session((*shard)->address());
  v1::NodeMessage message = test::RawSession::HelloOf(7, "old");
  message.mutable_hello()->set_protocol(1);
  ASSERT_TRUE(session.Say(message));
  const auto ended = session.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->message(),
            fmt::format("node 'old' speaks version 1 of the directory protocol, this shard {}",
                        wire::kDirectoryProtocol));
  EXPECT_FALSE(ended->retry());
}

}  // namespace
}  // namespace hoplite::directory
