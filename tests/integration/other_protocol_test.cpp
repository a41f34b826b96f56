// Nodes and shards of different versions of the directory protocol: each is told in words why it
// can't join.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "hoplite/v1/directory.grpc.pb.h"
#include "testing/directory_cluster.h"
#include "testing/directory_node.h"
#include "wire/directory_session.h"

namespace hoplite::directory {
namespace {

constexpr char kLocal[] = "127.0.0.1:0";

// A shard of version 1, which compares the number in the Hello and ends the session.
class OldShard final : public v1::Directory::Service {
 public:
  OldShard() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(kLocal, grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status Session(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::ShardMessage, v1::NodeMessage>* stream) override {
    v1::NodeMessage first;
    if (!stream->Read(&first)) return grpc::Status::OK;
    v1::ShardMessage answer;
    v1::Ended& ended = *answer.mutable_ended();
    ended.set_code(static_cast<std::uint32_t>(ErrorCode::kInvalidArgument));
    ended.set_message("node '" + first.hello().name() + "' speaks version " +
                      std::to_string(first.hello().protocol()) +
                      " of the directory protocol, this shard 1");
    stream->Write(answer);
    return grpc::Status::OK;
  }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(OtherProtocol, AnOlderShardRefusesANodeInWords) {
  const OldShard shard;
  test::DirectoryNode node(NodeId{1}, "n1", [&](asio::io_context& loop) {
    return MakeGrpcDirectoryClient(loop, {.shards = {shard.address()}});
  });
  node.Start();
  ASSERT_TRUE(node.WaitFor([&] { return !node.refusals().empty(); }));
  EXPECT_EQ(node.refusals().front().message,
            fmt::format("node 'n1' speaks version {} of the directory protocol, this shard 1",
                        wire::kDirectoryProtocol));
}

TEST(OtherProtocol, AnOlderNodeIsRefusedInWords) {
  auto options = test::DirectoryCluster::Patient();
  options.listen = kLocal;
  const auto shard = DirectoryServer::Start(options);
  ASSERT_TRUE(shard) << shard.error().ToString();
  const auto stub = v1::Directory::NewStub(
      grpc::CreateChannel((*shard)->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Session(&context);
  v1::NodeMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol(1);
  hello.set_node(7);
  hello.set_name("old");
  hello.set_address("127.0.0.1:1");
  hello.set_shard_count(1);
  ASSERT_TRUE(stream->Write(message));
  v1::ShardMessage answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.ended().message(),
            fmt::format("node 'old' speaks version 1 of the directory protocol, this shard {}",
                        wire::kDirectoryProtocol));
  EXPECT_FALSE(answer.ended().retry());
  context.TryCancel();
  stream->Finish();
}

}  // namespace
}  // namespace hoplite::directory
