// What a node's data port bears from peers that are broken, lost or malicious: they get an error or
// a closed connection, and nothing else is disturbed.
#include <optional>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/checksum.h"
#include "net/handshake.h"
#include "node/streams/data_plane.h"
#include "testing/cluster.h"
#include "testing/raw_peer.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::kSoon;
using testing::Pattern;
using testing::RawPeer;
using testing::Text;
using namespace std::chrono_literals;

constexpr std::uint64_t kHugeCredit = std::uint64_t{1} << 63;

// Node 0 serves node 1 slowly while the test speaks to node 0's data port. At the end that transfer
// has brought the right bytes, all memory is free again, and the node stops.
class HostilePeer : public ::testing::Test {
 protected:
  HostilePeer() : cluster_({.nodes = 2, .memory_bytes = 32_MiB, .stall = 1000ms}) {
    const std::size_t slow = cluster_.Add({.memory_bytes = 32_MiB, .rate_bytes_per_second = kSlow});
    id_ = *cluster_.client(0).Put(bytes_);
    transfer_ = cluster_.client(slow).GetAsync(id_, kSoon);
    version_ = cluster_.Find(id_)->version;
    RawPeer stranger = Dial();
    stranger.Send(wire::PeerHello(0, NodeId{1}, NodeId{2}));
    const auto refusal = stranger.Next();
    const auto& welcome = std::get<wire::PeerWelcome>(refusal.value());
    identity_ = {.cluster = welcome.cluster, .self = welcome.from};
  }

  ~HostilePeer() override {
    const auto view = transfer_->Wait();
    EXPECT_TRUE(view) << view.error().ToString();
    if (view) EXPECT_TRUE(Text(*view) == bytes_);
    EXPECT_TRUE(cluster_.client(1).Delete(id_, kSoon));
    EXPECT_TRUE(Eventually([&] { return cluster_.node(0).usage().used_bytes == 0; }));
    const auto start = std::chrono::steady_clock::now();
    cluster_.Stop(0);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 9s) << "a task had to be given up";
  }

  RawPeer Dial() { return RawPeer::Connect(cluster_.node(0).address()); }
  RawPeer Greeted() {
    RawPeer peer = Dial();
    peer.Send(wire::PeerHello(identity_.cluster, NodeId{77}, identity_.self));
    const auto answer = peer.Next();
    EXPECT_EQ(std::get<wire::PeerWelcome>(answer.value()).refusal, wire::Refusal::kNone);
    return peer;
  }
  wire::Refusal Refused(wire::PeerHello hello) {
    RawPeer peer = Dial();
    peer.Send(hello);
    const auto answer = peer.Next();
    EXPECT_TRUE(peer.Closed());
    return answer ? std::get<wire::PeerWelcome>(*answer).refusal : wire::Refusal::kNone;
  }
  wire::Fetch FetchOfAll(std::uint64_t credit) const {
    return FetchOf(id_, version_, layout_, credit);
  }
  static wire::Fetch FetchOf(const ObjectId& id, Version version, const Layout& layout,
                             std::uint64_t credit) {
    wire::Fetch fetch;
    fetch.object = id;
    fetch.version = version;
    fetch.stripes = layout.all_stripes();
    fetch.next = layout.empty_marks();
    fetch.credit_bytes = credit;
    return fetch;
  }
  std::optional<wire::EndReason> EndOf(const wire::Fetch& fetch) {
    RawPeer peer = Greeted();
    peer.Send(fetch);
    const auto answer = peer.Next();
    EXPECT_TRUE(peer.Closed());
    if (!answer || !std::holds_alternative<wire::End>(*answer)) return std::nullopt;
    return std::get<wire::End>(*answer).reason;
  }

  static constexpr std::uint64_t kSlow = 6'000'000;
  const std::string bytes_ = Pattern(6_MiB, 1);
  const Layout layout_ = Layout::For(6_MiB);
  Cluster cluster_;
  ObjectId id_;
  Version version_;
  std::optional<Future<Buffer>> transfer_;
  net::Identity identity_;
};

TEST_F(HostilePeer, ConnectsAndCloses) {
  for (int i = 0; i < 20; ++i) Dial();
}

TEST_F(HostilePeer, StopsInTheMiddleOfItsHello) {
  std::vector<RawPeer> halves;
  const auto hello = wire::Encode(wire::PeerHello(identity_.cluster, NodeId{5}, identity_.self));
  for (std::size_t bytes = 1; bytes < hello.size(); bytes += 7) {
    halves.push_back(Dial());
    halves.back().Send(std::span(hello).first(bytes));
  }
  for (RawPeer& peer : halves) EXPECT_TRUE(peer.Closed());
}

// The strangers that have had most time to speak are closed first, long before that time is over;
// honest peers come in.
TEST_F(HostilePeer, ComesInGreatNumbersAndSaysNothing) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr std::size_t kLoops = 2;
  constexpr std::size_t kMore = 4;  // honest peers dial in between, so the loops get unequal shares
  std::vector<RawPeer> crowd;
  while (crowd.size() < kLoops * (node::Stranger::kMost + kMore)) crowd.push_back(Dial());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(crowd[0].Closed());
  EXPECT_TRUE(crowd[1].Closed());
  EXPECT_LT(std::chrono::steady_clock::now() - start, net::kHandshakeTimeout / 2);
  Greeted();
}

TEST_F(HostilePeer, SendsRandomBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::byte> noise(1 + random() % 4096);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
    RawPeer greeted = Greeted();
    greeted.Send(noise);
    RawPeer stranger = Dial();
    stranger.Send(noise);
    EXPECT_TRUE(greeted.Closed());
    EXPECT_TRUE(stranger.Closed());
  }
}

TEST_F(HostilePeer, GivesWhatIsNoObject) {
  for (const std::uint32_t announced : {100U, 1'000U}) {
    RawPeer peer = Greeted();
    peer.Send(wire::Give{announced, 7});
    peer.Send(std::vector<std::byte>(100));
    EXPECT_TRUE(peer.Closed()) << "damaged, or less than it says";
  }
  const std::vector<std::byte> junk(100, std::byte{0xff});
  RawPeer peer = Greeted();
  peer.Send(wire::Give{100, BlockChecksum(junk)});
  peer.Send(junk);
  EXPECT_TRUE(peer.Closed());
}

TEST_F(HostilePeer, IsToldWhyItIsRefused) {
  const wire::PeerHello right(identity_.cluster, NodeId{5}, identity_.self);
  wire::PeerHello wrong = right;
  wrong.cluster ^= 1;
  EXPECT_EQ(Refused(wrong), wire::Refusal::kCluster);
  wrong = right;
  wrong.expected = NodeId{99};
  EXPECT_EQ(Refused(wrong), wire::Refusal::kNotThatNode);
  wrong = right;
  wrong.protocol_version = 9;
  EXPECT_EQ(Refused(wrong), wire::Refusal::kProtocolVersion);
}

TEST_F(HostilePeer, NamesALengthOfFourGigabytes) {
  for (const auto kind :
       {wire::FrameKind::kFetch, wire::FrameKind::kHello, wire::FrameKind::kData}) {
    auto frame = wire::Encode(wire::Done());
    frame[0] = static_cast<std::byte>(kind);
    for (std::size_t i = 4; i < 8; ++i) frame[i] = std::byte{0xff};
    RawPeer peer = Greeted();
    peer.Send(frame);
    EXPECT_TRUE(peer.Closed());
  }
}

TEST_F(HostilePeer, AsksForWhatIsNotThere) {
  wire::Fetch fetch = FetchOfAll(kHugeCredit);
  fetch.object = ObjectId::FromName("nobody put this");
  EXPECT_EQ(EndOf(fetch), wire::EndReason::kUnknown);
  fetch = FetchOfAll(kHugeCredit);
  ++fetch.version.sequence;
  EXPECT_EQ(EndOf(fetch), wire::EndReason::kUnknown);
  fetch = FetchOfAll(kHugeCredit);
  fetch.slot = 3;
  EXPECT_EQ(EndOf(fetch), wire::EndReason::kUnknown);
}

TEST_F(HostilePeer, AsksBeyondTheEnd) {
  wire::Fetch fetch = FetchOfAll(kHugeCredit);
  for (const std::uint32_t next : {layout_.stripe_block_count(0) + 1, ~std::uint32_t{0}}) {
    fetch.next[0] = next;
    EXPECT_EQ(EndOf(fetch), wire::EndReason::kUnknown);
  }
  for (const std::uint32_t stripes : {1u, 3u, layout_.stripe_count - 1}) {  // of other layouts
    fetch.next = StripeMarks(stripes, 0);
    fetch.stripes = 1;
    EXPECT_EQ(EndOf(fetch), wire::EndReason::kUnknown);
  }
}

TEST_F(HostilePeer, NamesAStripeThatItsOwnListLacks) {
  wire::Fetch fetch = FetchOfAll(kHugeCredit);
  fetch.stripes = 1;
  fetch.next = {0};
  auto frame = wire::Encode(fetch);
  frame[wire::kHeaderBytes + 56] = std::byte{0x02};  // the mask
  RawPeer peer = Greeted();
  peer.Send(frame);
  EXPECT_TRUE(peer.Closed());
}

// The right bytes come all the same: how much credit a receiver gives is up to it.
TEST_F(HostilePeer, GivesACreditOfTwoToTheSixtyThree) {
  RawPeer peer = Greeted();
  peer.Send(FetchOfAll(kHugeCredit));
  std::string received;
  for (auto frame = peer.Next(); frame && std::holds_alternative<wire::Data>(*frame);
       frame = peer.Next()) {
    const auto payload = peer.Receive(std::get<wire::Data>(*frame).payload_bytes);
    ASSERT_TRUE(payload);
    received.append(reinterpret_cast<const char*>(payload->data()), payload->size());
  }
  EXPECT_TRUE(received == bytes_);
  peer.Send(wire::Done());
}

// No byte is sent beyond the credit. With less credit than a block, only a last block that is short
// enough may be sent.
TEST_F(HostilePeer, GivesTooLittleCreditForABlock) {
  for (const std::uint32_t next : {0u, layout_.stripe_block_count(0) - 1}) {
    wire::Fetch fetch = FetchOfAll(layout_.block_bytes - 1);
    fetch.stripes = 1;
    fetch.next[0] = next;
    RawPeer peer = Greeted();
    peer.Send(fetch);
    const auto first = peer.Next();
    ASSERT_TRUE(first);
    ASSERT_TRUE(std::holds_alternative<wire::KeepAlive>(*first)) << Name(KindOf(*first));
    peer.Send(wire::Credit{layout_.block_bytes});
    const auto second = peer.Next();
    ASSERT_TRUE(second);
    ASSERT_TRUE(std::holds_alternative<wire::Data>(*second)) << Name(KindOf(*second));
    EXPECT_EQ(std::get<wire::Data>(*second).payload_bytes, layout_.block_bytes);
  }
}

// What a receiver says must not put off the sign of life that it is owed.
TEST_F(HostilePeer, TalksWithoutPause) {
  RawPeer peer = Greeted();
  peer.Send(FetchOfAll(0));
  bool heard = false;
  for (int i = 0; i < 100 && !heard; ++i) {
    peer.Send(wire::KeepAlive());
    heard = peer.Next(20ms).has_value();
  }
  EXPECT_TRUE(heard);
}

TEST_F(HostilePeer, SaysDoneBeforeItHasAnything) {
  RawPeer peer = Greeted();
  peer.Send(FetchOfAll(0));
  peer.Send(wire::Done());
  EXPECT_TRUE(peer.Closed(3s));
}

TEST_F(HostilePeer, AsksAgainInTheMiddleOfAFetch) {
  RawPeer peer = Greeted();
  peer.Send(FetchOfAll(0));
  peer.Send(FetchOfAll(kHugeCredit));
  EXPECT_TRUE(peer.Closed(3s));
}

// The peer is given up after the stall time, and its pin with it.
TEST_F(HostilePeer, StopsReading) {
  const auto large = cluster_.client(0).Put(Pattern(16_MiB, 2));
  ASSERT_TRUE(large);
  const wire::Fetch fetch =
      FetchOf(*large, cluster_.Find(*large)->version, Layout::For(16_MiB), kHugeCredit);
  RawPeer peer = Greeted();
  peer.Send(fetch);
  ASSERT_TRUE(Eventually([&] { return cluster_.node(0).counters().bytes_sent > 64_KiB; }));
  ASSERT_TRUE(cluster_.client(0).Delete(*large, kSoon));
  EXPECT_TRUE(Eventually([&] { return cluster_.node(0).usage().used_bytes <= 6_MiB; }));
  EXPECT_TRUE(peer.Closed());
}

// Signs of life alone hold no pin for ever: not while a socket is full, nor when only DONE is
// missing.
TEST_F(HostilePeer, TalksButTakesNothing) {
  std::vector<RawPeer> peers;
  for (const std::uint64_t size : {16_MiB, 128_KiB}) {
    const auto id = cluster_.client(0).Put(Pattern(size, 3));
    ASSERT_TRUE(id);
    const wire::Fetch fetch =
        FetchOf(*id, cluster_.Find(*id)->version, Layout::For(size), kHugeCredit);
    peers.push_back(Greeted());
    peers.back().Send(fetch);
    const auto first = peers.back().Next();
    ASSERT_TRUE(first);
    EXPECT_EQ(KindOf(*first), wire::FrameKind::kData);
    ASSERT_TRUE(cluster_.client(0).Delete(*id, kSoon));
  }
  EXPECT_GT(cluster_.node(0).usage().used_bytes, 22_MiB);
  EXPECT_TRUE(Eventually([&] {
    for (RawPeer& peer : peers) peer.Send(wire::KeepAlive());
    return cluster_.node(0).usage().used_bytes <= 6_MiB;
  }));
}

TEST_F(HostilePeer, TalksButGivesNoCredit) {
  RawPeer peer = Greeted();
  peer.Send(FetchOfAll(0));
  EXPECT_TRUE(Eventually([&] {
    peer.Send(wire::KeepAlive());
    return peer.Closed(50ms);
  }));
}

}  // namespace
}  // namespace hoplite
