// Connections to a shard that are no node's: silent, in pieces, too long, of another protocol, or
// that take nothing. Each is closed, nobody else notices, and it costs next to no memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/units.h"
#include "testing/directory_cluster.h"
#include "testing/directory_node.h"
#include "testing/raw_session.h"
#include "testing/resident_memory.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;
using test::DirectoryNode;
using test::kMemoryCounts;
using test::RawSession;
using test::ResidentBytes;

std::string LengthBytes(std::uint32_t length) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(length >> shift & 0xff);
  }
  return bytes;
}

class StrangersTest : public testing::Test {
 protected:
  void Start(std::chrono::milliseconds lease = 30s) {
    auto options = test::DirectoryCluster::Patient();
    options.listen = "127.0.0.1:0";
    options.lease = lease;
    auto server = DirectoryServer::Start(options);
    ASSERT_TRUE(server) << server.error().ToString();
    server_ = *std::move(server);
    witness_ =
        std::make_unique<DirectoryNode>(NodeId(1000), "witness", [this](asio::io_context& loop) {
          return MakeTcpDirectoryClient(loop, {.shards = {address()}});
        });
    witness_->Join();
  }
  const std::string& address() const { return server_->address(); }
  bool ServiceGoesOn() {
    const ObjectId object = ObjectId::Random();
    witness_->Say(protocol::Create{.object = object, .layout = Layout::For(100'000)});
    return witness_->Take<protocol::CreateAccepted>(object).has_value();
  }
  // The words with which a connection that says this is closed; empty: without.
  std::string WordsFor(const std::string& bytes) {
    RawSession stranger(address());
    stranger.SayBytes(bytes);
    const auto ended = stranger.ReadEnded();
    EXPECT_TRUE(stranger.Ends());
    return ended ? ended->message() : "";
  }

  std::unique_ptr<DirectoryServer> server_;
  std::unique_ptr<DirectoryNode> witness_;
};

TEST_F(StrangersTest, WhoSaysNothingIsSentAwayAfterALease) {
  Start(300ms);
  RawSession silent(address());
  const auto ended = silent.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->message(), "no Hello came in time");
  EXPECT_TRUE(silent.Ends());
}

// Each byte is life, but a Hello has one deadline.
TEST_F(StrangersTest, WhoSaysHalfAHelloIsSentAwayAfterALease) {
  Start(300ms);
  RawSession slow(address());
  const std::string hello = RawSession::Frame(RawSession::HelloOf(7, "slow"));
  ASSERT_TRUE(slow.SayBytes(hello.substr(0, hello.size() - 1)));
  const auto ended = slow.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->message(), "no Hello came in time");
}

TEST_F(StrangersTest, AHelloMayComeByteByByte) {
  Start();
  RawSession session(address());
  for (const char byte : RawSession::Frame(RawSession::HelloOf(7, "slow"))) {
    ASSERT_TRUE(session.SayBytes({&byte, 1}));
  }
  EXPECT_TRUE(session.ReadWelcome());
}

TEST_F(StrangersTest, MessagesMayBeCutAnywhere) {
  Start();
  const ObjectId object = ObjectId::Random();
  v1::NodeMessage ask;
  *ask.add_events() = wire::ToProto(protocol::NodeEvent{protocol::Subscribe{object}});
  ask.set_heartbeat(1);
  const std::string one = RawSession::Frame(ask);
  RawSession session(address());
  ASSERT_TRUE(session.SayHello(7, "cut"));
  ASSERT_TRUE(session.ReadWelcome());
  for (std::size_t cut = 0; cut <= 2 * one.size(); ++cut) {
    const std::string two = one + one;
    ASSERT_TRUE(session.SayBytes(std::string_view(two).substr(0, cut)));
    ASSERT_TRUE(session.SayBytes(std::string_view(two).substr(cut)));
    for (int answers = 0; answers < 2; ++answers) {
      ASSERT_TRUE(session.ReadUntil([](const auto& m) { return m.heartbeat_ack() == 1; }));
    }
  }
}

TEST_F(StrangersTest, LengthsThatLieAreRefusedInWords) {
  Start();
  for (const std::uint32_t length : {64u * 1024 + 1, 1024u * 1024 + 1, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_THAT(WordsFor(LengthBytes(length) + std::string(100, 'x')),
                testing::HasSubstr("is announced"));
  }
  EXPECT_TRUE(ServiceGoesOn());
}

TEST_F(StrangersTest, ALengthThatLiesEndsASession) {
  Start();
  RawSession session(address());
  ASSERT_TRUE(session.SayHello(7, "liar"));
  ASSERT_TRUE(session.ReadWelcome());
  ASSERT_TRUE(session.SayBytes(LengthBytes(1024 * 1024 + 1)));
  const auto ended = session.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_THAT(ended->message(), testing::HasSubstr("at most 1048576 are allowed"));
  EXPECT_TRUE(ServiceGoesOn());
}

TEST_F(StrangersTest, WhatIsNoMessageIsRefusedInWords) {
  Start();
  EXPECT_THAT(WordsFor(LengthBytes(4) + "\xff\xff\xff\xff"), testing::HasSubstr("no message"));
  EXPECT_THAT(WordsFor(LengthBytes(0)), testing::HasSubstr("begin with Hello"));
  v1::NodeMessage heartbeat;
  heartbeat.set_heartbeat(1);
  EXPECT_THAT(WordsFor(RawSession::Frame(heartbeat)), testing::HasSubstr("begin with Hello"));
  v1::NodeMessage part;
  part.mutable_part()->set_data(std::string(60'000, 'x'));
  const std::string endless = RawSession::Frame(part) + RawSession::Frame(part);
  EXPECT_THAT(WordsFor(endless), testing::HasSubstr("longer than"));
  EXPECT_TRUE(ServiceGoesOn());
}

TEST_F(StrangersTest, ALongMessageComesInParts) {
  Start();
  RawSession session(address());
  ASSERT_TRUE(session.SayHello(7, "long"));
  ASSERT_TRUE(session.ReadWelcome());
  v1::NodeMessage whole;
  for (int i = 0; i < 50'000; ++i) {
    *whole.add_events() = wire::ToProto(
        protocol::NodeEvent{protocol::Subscribe{ObjectId::FromName(std::to_string(i))}});
  }
  whole.set_heartbeat(5);
  const std::string bytes = whole.SerializeAsString();
  ASSERT_GT(bytes.size(), 1_MiB);
  for (std::size_t at = 0; at < bytes.size(); at += 500'000) {
    v1::NodeMessage part;
    part.mutable_part()->set_data(bytes.substr(at, 500'000));
    part.mutable_part()->set_last(at + 500'000 >= bytes.size());
    ASSERT_TRUE(session.Say(part));
  }
  EXPECT_TRUE(session.ReadUntil([](const auto& m) { return m.heartbeat_ack() == 5; }));
}

TEST_F(StrangersTest, PartsWithoutEndEndASession) {
  Start();
  RawSession session(address());
  ASSERT_TRUE(session.SayHello(7, "endless"));
  ASSERT_TRUE(session.ReadWelcome());
  v1::NodeMessage part;
  part.mutable_part()->set_data(std::string(1'000'000, 'x'));
  for (int i = 0; i < 5; ++i) session.Say(part);
  const auto ended = session.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_THAT(ended->message(), testing::HasSubstr("longer than"));
  EXPECT_TRUE(ServiceGoesOn());
}

// An older node speaks gRPC; its first bytes are enough to see it, and everything behind them is
// dropped: a flood of CONTINUATION frames once took gigabytes.
TEST_F(StrangersTest, AFloodOfHttp2DoesNoHarm) {
  Start();
  const std::string preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  const std::string headers("\0\0\2\1\0\0\0\0\1\x83\x86", 11);
  std::string continuation("\0\3\xe8\x09\0\0\0\0\1", 9);
  continuation += std::string(
                      "\x40\x05"
                      "abcde\x7f\x80") +
                  std::string(991, 'x');
  std::string flood = preface + headers;
  while (flood.size() < 1_MiB) flood += continuation;
  const std::uint64_t before = ResidentBytes();
  for (int i = 0; i < 200; ++i) {
    RawSession stranger(address());
    stranger.SayBytes(flood);
    EXPECT_TRUE(stranger.Ends());
  }
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + 32_MiB);
  EXPECT_TRUE(ServiceGoesOn());
}

TEST_F(StrangersTest, ManyWhoSayNothingCostLittleAndAreSentAway) {
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  // Both ends of each are in this process.
  const std::size_t count = std::min<std::size_t>(10'000, descriptors.rlim_cur / 2 - 200);
  ASSERT_GE(count, 1'000u);
  Start(3s);
  const std::uint64_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawSession>> silent;
  for (std::size_t i = 0; i < count; ++i) {
    silent.push_back(std::make_unique<RawSession>(address()));
    ASSERT_TRUE(silent.back()->connected());
  }
  EXPECT_TRUE(ServiceGoesOn());
  EXPECT_TRUE(std::ranges::all_of(silent, [](const auto& one) { return one->Ends(); }));
  // Its test's own end of a connection has 64 KiB for what it hears.
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + count * (64_KiB + 8_KiB) + 32_MiB);
  EXPECT_TRUE(ServiceGoesOn());
}

// Asks for pictures and takes none of the answers.
TEST_F(StrangersTest, QuestionsWhoseAnswersNobodyTakesDelayNobody) {
  Start();
  for (int i = 0; i < 2'000; ++i) {
    const ObjectId object = ObjectId::FromName(std::to_string(i));
    witness_->Say(protocol::Create{
        .object = object, .layout = Layout::For(1), .metadata = std::string(900, 'm')});
  }
  EXPECT_TRUE(ServiceGoesOn());
  v1::NodeMessage question;
  question.mutable_status();
  const std::uint64_t before = ResidentBytes();
  std::vector<std::unique_ptr<RawSession>> lazy;
  for (int i = 0; i < 20; ++i) {
    lazy.push_back(std::make_unique<RawSession>(address()));
    for (int questions = 0; questions < 100; ++questions) {
      lazy.back()->SayWhatFits(RawSession::Frame(question));
    }
  }
  EXPECT_TRUE(ServiceGoesOn());
  if (kMemoryCounts) EXPECT_LT(ResidentBytes(), before + 20 * 8_MiB);
  const auto status = witness_->Status(0);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->page.objects.size(), protocol::kMaxPageObjects);
}

TEST_F(StrangersTest, AConnectionForQuestionsAnswersOneAfterTheOther) {
  Start();
  RawSession session(address());
  v1::NodeMessage status;
  status.mutable_status();
  v1::NodeMessage info;
  const ObjectId object = ObjectId::Random();
  info.mutable_info()->set_object(std::string(object.view()));
  ASSERT_TRUE(session.SayBytes(RawSession::Frame(status) + RawSession::Frame(info) +
                               RawSession::Frame(status)));
  const auto answer = [&] {
    v1::ShardMessage whole;
    std::string bytes;
    while (const auto part = session.Read()) {
      bytes += part->part().data();
      if (part->part().last()) break;
    }
    EXPECT_TRUE(whole.ParseFromString(bytes));
    return whole;
  };
  EXPECT_EQ(answer().status().nodes_size(), 1);
  EXPECT_EQ(answer().failure().code(), static_cast<std::uint32_t>(ErrorCode::kNotFound));
  EXPECT_EQ(answer().status().nodes_size(), 1);
  ASSERT_TRUE(session.SayHello(7, "late"));
  const auto ended = session.ReadEnded();
  ASSERT_TRUE(ended);
  EXPECT_THAT(ended->message(), testing::HasSubstr("only questions"));
}

}  // namespace
}  // namespace hoplite::directory
