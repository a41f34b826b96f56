// AdminTest: the admin service beside a real shard, a node, and a client of gRPC.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "admin/admin_server.h"
#include "base/shard_list.h"
#include "hoplite/admin/v1/admin.grpc.pb.h"
#include "testing/directory_cluster.h"
#include "testing/directory_node.h"

namespace hoplite::admin {

using namespace std::chrono_literals;
using directory::DirectoryServer;
using grpc::StatusCode;
using test::DirectoryNode;

// Call of the service that is under way.
template <typename Response>
struct Pending {
  grpc::ClientContext context;
  Response response;
  std::promise<grpc::Status> promise;
  std::future<grpc::Status> status = promise.get_future();

  StatusCode Code() { return status.get().error_code(); }
};
using PendingWait = Pending<v1::WaitExistsResponse>;

class AdminTest : public testing::Test {
 protected:
  // The last member of the first shard.
  void Start(std::chrono::milliseconds collects = 0ms, std::vector<std::string> shards = {}) {
    auto options = test::DirectoryCluster::Patient();
    options.listen = shards.empty() ? "127.0.0.1:0" : MembersOf(shards.front()).back();
    options.shards = shards;
    options.recovery_window = options.recovery_limit = collects;
    options.security = security_;
    auto shard = DirectoryServer::Start(options);
    ASSERT_TRUE(shard) << shard.error().ToString();
    shard_ = *std::move(shard);
    auto admin = AdminServer::Start({"127.0.0.1:0", shards, shard_->address(), shard_->security()},
                                    shard_->service());
    ASSERT_TRUE(admin) << admin.error().ToString();
    admin_ = *std::move(admin);
    stub_ = NewStub();
  }
  void Join() {
    node_ = std::make_unique<DirectoryNode>(NodeId(1000), "n1", [this](asio::io_context& loop) {
      return directory::MakeTcpDirectoryClient(loop, {.shards = {shard_->address()}});
    });
    node_->Join();
  }
  void TearDown() override {
    stub_.reset();
    admin_.reset();
    node_.reset();
  }

  // A connection of its own.
  std::unique_ptr<v1::Admin::Stub> NewStub() {
    grpc::ChannelArguments arguments;
    arguments.SetInt("test.number", number_++);
    return v1::Admin::NewStub(grpc::CreateCustomChannel(
        admin_->address(), grpc::InsecureChannelCredentials(), arguments));
  }
  static std::string Bytes(const ObjectId& object) { return std::string(object.view()); }

  void Put(const ObjectId& object, std::uint64_t size = 3) {
    Announce(object, size);
    node_->Say(protocol::CopyComplete{object, version_});
  }
  void Announce(const ObjectId& object, std::uint64_t size = 3) {
    node_->Say(protocol::Create{.object = object, .layout = Layout::For(size)});
    const auto accepted = node_->Take<protocol::CreateAccepted>(object);
    ASSERT_TRUE(accepted);
    version_ = accepted->version;
  }
  // Named "0" to "999", with more metadata together than one answer has room for.
  void AnnounceAThousand() {
    for (int i = 0; i < 1'000; ++i) {
      node_->Say(protocol::Create{.object = ObjectId::FromName(std::to_string(i)),
                                  .layout = Layout::For(1),
                                  .metadata = std::string(4096, 'm')});
    }
    ASSERT_TRUE(node_->Take<protocol::CreateAccepted>(ObjectId::FromName("999")));
  }

  grpc::Status Info(const std::vector<std::string>& ids, v1::InfoResponse& response) {
    v1::InfoRequest request;
    for (const std::string& id : ids) request.add_object_ids(id);
    grpc::ClientContext context;
    return stub_->Info(&context, request, &response);
  }
  v1::Object InfoOf(const ObjectId& object) {
    v1::InfoResponse response;
    const grpc::Status status = Info({Bytes(object)}, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.objects_size() == 1 ? response.objects(0) : v1::Object();
  }
  grpc::Status Status(v1::StatusResponse& response, std::uint32_t most = 0,
                      const std::string& after = "") {
    v1::StatusRequest request;
    request.set_max_objects(most);
    request.set_after_object_id(after);
    grpc::ClientContext context;
    return stub_->Status(&context, request, &response);
  }
  std::unique_ptr<PendingWait> Wait(const std::vector<ObjectId>& objects, std::uint32_t count = 0,
                                    std::chrono::milliseconds patience = 60s) {
    return WaitAt(*stub_, objects, count, patience);
  }
  static std::unique_ptr<PendingWait> WaitAt(v1::Admin::Stub& stub,
                                             const std::vector<ObjectId>& objects,
                                             std::uint32_t count = 0,
                                             std::chrono::milliseconds patience = 60s) {
    v1::WaitExistsRequest request;
    for (const ObjectId& object : objects) request.add_object_ids(Bytes(object));
    request.set_count(count);
    auto wait = std::make_unique<PendingWait>();
    wait->context.set_deadline(std::chrono::system_clock::now() + patience);
    // gRPC copies the request.
    stub.async()->WaitExists(
        &wait->context, &request, &wait->response,
        [wait = wait.get()](const grpc::Status& status) { wait->promise.set_value(status); });
    return wait;
  }
  static bool IsOpen(PendingWait& wait) {
    return wait.status.wait_for(50ms) == std::future_status::timeout;
  }
  testing::AssertionResult ServiceGoesOn() {
    v1::StatusResponse response;
    return WentWell(Status(response));
  }
  static testing::AssertionResult WentWell(const grpc::Status& status) {
    if (status.ok()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << status.error_code() << ": " << status.error_message();
  }

  SecurityConfig security_;  // of the directory
  int number_ = 0;
  std::unique_ptr<DirectoryServer> shard_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<DirectoryNode> node_;
  std::unique_ptr<v1::Admin::Stub> stub_;
  Version version_;
};

}  // namespace hoplite::admin
