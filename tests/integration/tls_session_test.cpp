// Sessions by TLS, as nodes of a shard have them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/directory_cluster.h"
#include "testing/directory_node.h"
#include "testing/tls_folder.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;
using net::TlsRole;
using test::DirectoryNode;

class TlsSession : public testing::Test {
 protected:
  void SetUp() override {
    auto options = test::DirectoryCluster::Patient();
    options.listen = "127.0.0.1:0";
    options.security = folder_.Certificate("directory", TlsRole::kDirectory, options.cluster);
    cluster_ = options.cluster;
    auto server = DirectoryServer::Start(options);
    ASSERT_TRUE(server) << server.error().ToString();
    server_ = *std::move(server);
  }
  std::unique_ptr<DirectoryNode> NewNode(int id, const std::string& name,
                                         net::TlsValidity validity) {
    const auto security = net::Security::Load(
        folder_.Certificate(name, TlsRole::kNode, cluster_, validity), TlsRole::kNode, cluster_);
    EXPECT_TRUE(security) << security.error().ToString();
    TcpDirectoryOptions options{
        .shards = {server_->address()}, .cluster = cluster_, .security = *security};
    return std::make_unique<DirectoryNode>(NodeId(id), name, [options](asio::io_context& loop) {
      return MakeTcpDirectoryClient(loop, options);
    });
  }
  static bool IsAlive(DirectoryNode& witness, const std::string& name) {
    const auto status = witness.Status(0);
    return status && std::ranges::any_of(status->nodes, [&](const protocol::NodeView& node) {
             return node.node.name == name && node.alive;
           });
  }

  test::TlsFolder folder_;
  std::string cluster_;
  std::unique_ptr<DirectoryServer> server_;
};

TEST_F(TlsSession, EndsWithTheCertificateOfItsPeer) {
  const auto witness = NewNode(1, "witness", {.ends = 1h});
  witness->Join();
  const auto short_lived = NewNode(2, "short", {.ends = 5s});
  short_lived->Join();
  EXPECT_TRUE(witness->WaitFor([&] { return !IsAlive(*witness, "short"); }));
  EXPECT_TRUE(IsAlive(*witness, "witness"));
}

// RFC 5280's "never" is the year 9999, more nanoseconds from now than a Duration has room for.
TEST_F(TlsSession, GoesOnWithACertificateThatNeverEnds) {
  const auto far = NewNode(1, "far", {.ends = std::chrono::days(365 * 7900)});
  far->Join();
  const auto witness = NewNode(2, "witness", {.ends = 1h});
  witness->Join();
  EXPECT_TRUE(IsAlive(*witness, "far"));
}

}  // namespace
}  // namespace hoplite::directory
