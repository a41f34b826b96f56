// The directory's server against nodes that are wrong, hostile, silent or slow: each is answered
// with a reason, and nobody else is disturbed.
#include "directory/directory_server.h"

#include <memory>
#include <string>

#include <asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "testing/directory_cluster.h"
#include "testing/directory_node.h"
#include "testing/raw_session.h"

namespace hoplite::directory {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): the events and actions spoken
using std::chrono::milliseconds;
using test::DirectoryNode;
using test::RawSession;

class DirectoryServerTest : public testing::Test {
 protected:
  // A shard without a list on a free port: what `hoplite directory --listen 127.0.0.1:0` starts.
  void Start(DirectoryServerOptions options = test::DirectoryCluster::Patient()) {
    options.listen = "127.0.0.1:0";
    auto server = DirectoryServer::Start(options);
    ASSERT_TRUE(server) << server.error().ToString();
    server_ = *std::move(server);
  }
  const std::string& address() const { return server_->address(); }

  std::unique_ptr<DirectoryNode> NewNode(int id, const std::string& name,
                                         TcpDirectoryOptions options) {
    if (options.shards.empty()) options.shards = {address()};
    return std::make_unique<DirectoryNode>(NodeId(id), name, [options](asio::io_context& loop) {
      return MakeTcpDirectoryClient(loop, options);
    });
  }
  std::unique_ptr<DirectoryNode> NewNode(int id, const std::string& name) {
    return NewNode(id, name, {});
  }
  // A joined node, by which tests see that the service goes on.
  std::unique_ptr<DirectoryNode> Witness() {
    auto node = NewNode(1000, "witness");
    node->Join();
    return node;
  }
  static bool ServiceGoesOn(DirectoryNode& witness) {
    const ObjectId object = ObjectId::Random();
    witness.Say(Create{.object = object, .layout = Layout::For(100'000)});
    return witness.Take<CreateAccepted>(object).has_value();
  }
  static bool Knows(DirectoryNode& witness, const std::string& name, bool alive) {
    const auto status = witness.Status(0);
    if (!status) return false;
    return std::ranges::any_of(status->nodes, [&](const NodeView& node) {
      return node.node.name == name && node.alive == alive;
    });
  }
  static void ExpectRefused(DirectoryNode& node, ErrorCode code, const std::string& words) {
    ASSERT_TRUE(node.WaitFor([&] { return !node.refusals().empty(); }));
    EXPECT_EQ(node.refusals().front().code, code);
    EXPECT_NE(node.refusals().front().message.find(words), std::string::npos)
        << node.refusals().front().message;
    EXPECT_TRUE(node.inventories().empty());
  }
  // The shard must end a session that says this, and name what was wrong.
  void ExpectEnds(const v1::NodeEvent& event, const std::string& words) {
    const auto witness = Witness();
    RawSession session(address());
    ASSERT_TRUE(session.SayHello(7, "hostile"));
    ASSERT_TRUE(session.ReadWelcome());
    ASSERT_TRUE(session.SayEvent(event));
    const auto ended = session.ReadEnded();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code(), static_cast<std::uint32_t>(ErrorCode::kProtocol));
    EXPECT_NE(ended->message().find(words), std::string::npos) << ended->message();
    EXPECT_TRUE(ServiceGoesOn(*witness));
    EXPECT_TRUE(witness->WaitFor([&] { return Knows(*witness, "hostile", false); }));
  }

  std::unique_ptr<DirectoryServer> server_;
};

// --- who may join

TEST_F(DirectoryServerTest, AnotherClusterIsRefusedInWords) {
  Start();
  const auto node = NewNode(1, "stranger", {.cluster = "red"});
  node->Start();
  ExpectRefused(*node, ErrorCode::kInvalidArgument, "'red'");
}

TEST_F(DirectoryServerTest, AnotherListOfShardsIsRefusedInWords) {
  Start();
  const auto witness = Witness();
  const auto node = NewNode(1, "stranger", {.shards = {address(), test::FreeAddress()}});
  node->Start();
  ExpectRefused(*node, ErrorCode::kInvalidArgument, "names 2 directory shards");
  EXPECT_TRUE(ServiceGoesOn(*witness));
}

TEST_F(DirectoryServerTest, AListInAnotherOrderIsRefusedInWords) {
  test::DirectoryCluster cluster(2);
  const auto& right = cluster.addresses();
  const auto node = NewNode(1, "stranger", {.shards = {right[1], right[0]}});
  node->Start();
  ExpectRefused(*node, ErrorCode::kInvalidArgument, "number");
}

TEST_F(DirectoryServerTest, ANameInUseIsRefusedWhileItsOwnerIsAlive) {
  Start();
  const auto witness = Witness();
  TcpDirectoryOptions options;
  options.times.name_in_use = milliseconds(100);
  const auto node = NewNode(2, "witness", options);
  node->Start();
  ExpectRefused(*node, ErrorCode::kAlreadyExists, "'witness' is in use");
  EXPECT_TRUE(ServiceGoesOn(*witness));
}

TEST_F(DirectoryServerTest, TheNameOfASuspendedNodeGoesToTheNewcomer) {
  DirectoryServerOptions options = test::DirectoryCluster::Patient();
  options.grace = std::chrono::seconds(30);
  Start(options);
  const auto witness = Witness();
  RawSession old(address());
  ASSERT_TRUE(old.SayHello(7, "worker"));
  ASSERT_TRUE(old.ReadWelcome());
  old.Drop();
  const auto newcomer = NewNode(8, "worker");
  newcomer->Join();
  EXPECT_TRUE(Knows(*witness, "worker", true));
  EXPECT_FALSE(Knows(*witness, "worker", false));
  EXPECT_TRUE(newcomer->refusals().empty());
}

TEST_F(DirectoryServerTest, ANodeWhoseHelloCannotBeIsRefusedForGood) {
  Start();
  const auto node = NewNode(1, std::string(300, 'n'));
  node->Start();
  ExpectRefused(*node, ErrorCode::kProtocol, "'hello'");
}

// --- what they may say

TEST_F(DirectoryServerTest, AnIdOfTheWrongLengthEndsTheSession) {
  Start();
  v1::NodeEvent event;
  event.set_object("nineteen bytes long");
  event.mutable_locate();
  ExpectEnds(event, "'object' has 19 bytes");
}

TEST_F(DirectoryServerTest, ASizeOfTwoToThe63EndsTheSession) {
  Start();
  v1::NodeEvent event = wire::ToProto(
      NodeEvent{Create{.object = ObjectId::Random(), .layout = Layout::For(1'000'000)}});
  event.mutable_create()->mutable_layout()->set_size_bytes(std::uint64_t{1} << 63);
  ExpectEnds(event, "'layout'");
}

TEST_F(DirectoryServerTest, AnEventWithoutABodyEndsTheSession) {
  Start();
  v1::NodeEvent event;
  event.set_object(std::string(20, 'x'));
  ExpectEnds(event, "'body'");
}

TEST_F(DirectoryServerTest, ASessionBeginsWithOneHello) {
  Start();
  RawSession early(address());
  ASSERT_TRUE(early.SayEvent(wire::ToProto(NodeEvent{Locate{ObjectId::Random()}})));
  auto ended = early.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->message().find("begin with Hello"), std::string::npos);

  RawSession twice(address());
  ASSERT_TRUE(twice.SayHello(7, "twice"));
  ASSERT_TRUE(twice.SayHello(7, "twice"));
  ended = twice.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_NE(ended->message().find("Hello came twice"), std::string::npos);
}

TEST_F(DirectoryServerTest, AQuestionWithABadIdIsAnsweredWithAnError) {
  Start();
  RawSession session(address());
  v1::NodeMessage question;
  question.mutable_info()->set_object("short");
  ASSERT_TRUE(session.Say(question));
  const auto answer = session.Read();
  ASSERT_TRUE(answer && answer->part().last());
  v1::ShardMessage failure;
  ASSERT_TRUE(failure.ParseFromString(answer->part().data()));
  EXPECT_EQ(failure.failure().code(), static_cast<std::uint32_t>(ErrorCode::kInvalidArgument));
}

// --- how fast they must be

TEST_F(DirectoryServerTest, ASilentNodeIsSuspendedThenLost) {
  DirectoryServerOptions options = test::DirectoryCluster::Patient();
  options.heartbeat = milliseconds(50);
  options.lease = milliseconds(500);
  options.grace = milliseconds(300);
  Start(options);
  const auto witness = Witness();
  RawSession frozen(address());
  ASSERT_TRUE(frozen.SayHello(7, "frozen"));
  ASSERT_TRUE(frozen.ReadWelcome());
  EXPECT_TRUE(witness->WaitFor([&] { return Knows(*witness, "frozen", false); }));
  EXPECT_TRUE(witness->WaitFor(
      [&] { return !Knows(*witness, "frozen", false) && !Knows(*witness, "frozen", true); }));
  EXPECT_FALSE(frozen.ReadUntil([](const auto&) { return true; }));  // its stream was closed
}

// Its heartbeats come, but it takes nothing of what it is told.
TEST_F(DirectoryServerTest, ANodeThatReadsNothingIsSentAway) {
  DirectoryServerOptions options = test::DirectoryCluster::Patient();
  options.session_queue_bytes = 1024 * 1024;
  options.heartbeat = milliseconds(100);
  options.lease = milliseconds(1000);
  options.grace = std::chrono::seconds(30);
  options.inline_limit_bytes = 64_KiB;
  Start(options);
  const auto witness = Witness();
  const ObjectId object = ObjectId::Random();
  witness->Say(Create{.object = object,
                      .layout = Layout::For(60'000),
                      .inline_bytes = std::make_shared<const std::string>(60'000, 'x')});
  ASSERT_TRUE(witness->Take<CreateAccepted>(object));

  RawSession lazy(address());
  ASSERT_TRUE(lazy.SayHello(7, "lazy"));
  ASSERT_TRUE(lazy.ReadWelcome());
  const v1::NodeEvent ask = wire::ToProto(NodeEvent{Locate{object}});
  for (int i = 0; i < 100 && lazy.SayEvent(ask); ++i) {
  }
  v1::NodeMessage heartbeat;
  heartbeat.set_heartbeat(1);
  EXPECT_TRUE(witness->WaitFor([&] {
    lazy.Say(heartbeat);
    return Knows(*witness, "lazy", false);
  }));
  EXPECT_TRUE(ServiceGoesOn(*witness));
}

// There are more events than may wait unprocessed: the shard reads on as it catches up, and loses
// none.
TEST_F(DirectoryServerTest, AFloodOfEventsIsTakenInAsFastAsTheShardCan) {
  Start();
  RawSession session(address());
  ASSERT_TRUE(session.SayHello(7, "chatty"));
  ASSERT_TRUE(session.ReadWelcome());
  constexpr int kMessages = 500;
  for (int i = 0; i < kMessages; ++i) {
    v1::NodeMessage message;
    for (int j = 0; j < 50; ++j) {
      const ObjectId object = ObjectId::FromName(std::to_string(i) + "/" + std::to_string(j));
      *message.add_events() = wire::ToProto(NodeEvent{Subscribe{object}});
    }
    message.set_heartbeat(static_cast<std::uint64_t>(i + 1));
    ASSERT_TRUE(session.Say(message));
  }
  EXPECT_TRUE(session.ReadUntil([](const auto& m) { return m.heartbeat_ack() == kMessages; }));
}

// --- when the shard itself is away

TEST_F(DirectoryServerTest, QuestionsToADeadShardEndWithAnError) {
  Start();
  const auto node = NewNode(1, "n1");
  node->Join();
  server_->Stop();
  ASSERT_TRUE(node->WaitFor([&] { return node->sessions().size() == 2; }));
  EXPECT_EQ(node->sessions().back(), (std::pair<std::size_t, bool>(0, false)));
  const auto view = node->Find(ObjectId::Random(), milliseconds(500));
  ASSERT_FALSE(view);
  EXPECT_TRUE(view.error().code == ErrorCode::kUnavailable ||
              view.error().code == ErrorCode::kTimeout);
  EXPECT_TRUE(node->refusals().empty());  // it goes on trying
}

TEST_F(DirectoryServerTest, AShardThatAcceptsButNeverAnswersIsNoSession) {
  asio::io_context loop;
  asio::ip::tcp::acceptor mute(loop, {asio::ip::make_address("127.0.0.1"), std::uint16_t{0}});
  TcpDirectoryOptions options;
  options.shards = {"127.0.0.1:" + std::to_string(mute.local_endpoint().port())};
  options.times.welcome = milliseconds(50);
  const auto node = NewNode(1, "n1", options);
  node->Start();
  const auto view = node->Find(ObjectId::Random(), milliseconds(300));
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(node->sessions().empty());
}

TEST_F(DirectoryServerTest, BadOptionsAreRefused) {
  const auto refused = [](auto change) {
    DirectoryServerOptions options = test::DirectoryCluster::Patient();
    options.listen = "127.0.0.1:0";
    change(options);
    const auto server = DirectoryServer::Start(options);
    return server ? std::string() : server.error().ToString();
  };
  EXPECT_THAT(refused([](auto& o) { o.listen = "nowhere"; }), ::testing::HasSubstr("listen"));
  EXPECT_THAT(refused([](auto& o) { o.lease = milliseconds(100); }), ::testing::HasSubstr("lease"));
  EXPECT_THAT(refused([](auto& o) { o.tombstone = o.lease; }), ::testing::HasSubstr("tombstone"));
  EXPECT_THAT(refused([](auto& o) { o.inline_limit_bytes = 64_KiB + 1; }),
              ::testing::HasSubstr("64.0 KiB"));
  Start();
  DirectoryServerOptions same;
  same.listen = address();
  const auto taken = DirectoryServer::Start(same);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(taken.error().message.find(address()), std::string::npos);
}

TEST_F(DirectoryServerTest, StopTwiceIsStopOnce) {
  Start();
  server_->Stop();
  server_->Stop();
}

// Of the tests themselves: another process may take a port between its choice and its use.
TEST(DirectoryCluster, ChoosesOtherAddressesIfOneWasTakenMeanwhile) {
  asio::io_context loop;
  const asio::ip::tcp::acceptor other(loop, {asio::ip::make_address("127.0.0.1"), 0});
  const std::string taken = "127.0.0.1:" + std::to_string(other.local_endpoint().port());
  int asked = 0;
  const test::DirectoryCluster cluster(2, test::DirectoryCluster::Patient(),
                                       [&] { return ++asked == 2 ? taken : test::FreeAddress(); });
  EXPECT_GE(asked, 4);
  EXPECT_THAT(cluster.addresses(), testing::Not(testing::Contains(taken)));
}

}  // namespace
}  // namespace hoplite::directory
