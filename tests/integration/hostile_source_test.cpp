// What a receiver bears from a source that is broken or malicious: the lane ends with the right
// blame, and marks lie over verified blocks only.
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/checksum.h"
#include "net/tcp_transport.h"
#include "node/streams/receive_lane.h"
#include "testing/cluster.h"
#include "testing/node_parts.h"
#include "testing/raw_peer.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeParts;
using hoplite::testing::Pattern;
using hoplite::testing::RawListener;
using hoplite::testing::RawPeer;
using protocol::Failure;
using protocol::Outcome;
using namespace std::chrono_literals;

constexpr std::uint64_t kCluster = 0xc1;
constexpr NodeId kReceiver{1};
constexpr NodeId kSource{2};

Settings Impatient() {
  Settings settings;
  settings.self = kReceiver;
  settings.cluster_id = kCluster;
  settings.keepalive = 50ms;
  settings.stall = 500ms;
  return settings;
}

// One lane of a node, and the source that the test plays.
class HostileSource : public ::testing::Test {
 protected:
  HostileSource() {
    EXPECT_TRUE(parts_.runtime.Start("receiver"));
    copy_ = *parts_.store.Create(ObjectId::FromName("x"), layout_, "", store::CopyKind::kRelayed);
    protocol::Grant grant;
    grant.object = copy_->object();
    grant.version.incarnation = 1;
    grant.source = {kSource, "villain", listener_.address()};
    grant.stripes = 1;
    lane_ = std::make_shared<ReceiveLane>(parts_.context, data_plane_, data_plane_.LoopAt(0),
                                          std::make_shared<CopySink>(copy_), grant, StripeMask{1},
                                          0, [this](LaneEnd end) { ended_.set_value(end); });
    lane_->Start();
  }
  ~HostileSource() override {
    lane_->Stop();
    parts_.runtime.OnMain([this] { data_plane_.Stop(); });
    EXPECT_TRUE(parts_.runtime.WaitForTasks(10s));
    lane_.reset();
    parts_.runtime.StopLoops();
    for (std::uint32_t i = 0; i < copy_->mark(0); ++i) {
      const ByteRange block = layout_.block_range(i);
      EXPECT_EQ(std::memcmp(copy_->bytes().data() + block.begin, bytes_.data() + block.begin,
                            block.size()),
                0)
          << "block " << i;
    }
  }

  // Up to the FETCH.
  RawPeer Greeted() {
    RawPeer peer = listener_.Accept();
    EXPECT_TRUE(peer.Next());
    peer.Send(wire::PeerWelcome(kCluster, kSource));
    const auto fetch = peer.Next();
    EXPECT_TRUE(fetch && std::holds_alternative<wire::Fetch>(*fetch));
    return peer;
  }
  wire::Data HeadOf(std::uint32_t block) const {
    wire::Data data;
    data.first_block = block;
    data.block_count = 1;
    data.payload_bytes = static_cast<std::uint32_t>(layout_.block_range(block).size());
    data.checksums[0] = BlockChecksum(PayloadOf(block));
    return data;
  }
  std::span<const std::byte> PayloadOf(std::uint32_t block) const {
    const ByteRange range = layout_.block_range(block);
    return std::as_bytes(std::span(bytes_)).subspan(range.begin, range.size());
  }
  void SendBlock(RawPeer& peer, std::uint32_t block) const {
    peer.Send(HeadOf(block));
    peer.Send(PayloadOf(block));
  }
  LaneEnd End() {
    auto end = ended_.get_future();
    if (end.wait_for(10s) != std::future_status::ready) {
      ADD_FAILURE() << "the lane goes on";
      return {};
    }
    return end.get();
  }
  void ExpectFailed(Failure failure, std::uint32_t mark) {
    const LaneEnd end = End();
    EXPECT_EQ(end.outcome, Outcome::kFailed);
    EXPECT_EQ(end.failure, failure) << end.why;
    EXPECT_NE(end.why.find("villain"), std::string::npos) << end.why;
    EXPECT_EQ(copy_->mark(0), mark);
  }

  static constexpr std::uint64_t kSize = 100'000;  // six whole blocks and a short one
  const std::string bytes_ = Pattern(kSize, 3);
  const Layout layout_ = Layout::For(kSize);
  RawListener listener_;
  NodeParts parts_{Impatient()};
  DataPlane data_plane_{parts_.context,
                        std::make_unique<net::TcpTransport>(parts_.runtime.data_loops())};
  store::CopyPtr copy_;
  std::promise<LaneEnd> ended_;
  std::shared_ptr<ReceiveLane> lane_;
};

// The source that the others are compared with.
TEST_F(HostileSource, AnHonestOneIsBelieved) {
  RawPeer peer = Greeted();
  for (std::uint32_t block = 0; block < layout_.block_count(); ++block) SendBlock(peer, block);
  peer.Send(wire::End{wire::EndReason::kFinal, 1});
  EXPECT_EQ(End().outcome, Outcome::kDone);
  EXPECT_EQ(copy_->mark(0), layout_.block_count());
}

TEST_F(HostileSource, RefusesConnections) {
  RawPeer peer = listener_.Accept();
  wire::PeerWelcome refusal(kCluster, NodeId{9});
  refusal.refusal = wire::Refusal::kNotThatNode;
  peer.Send(refusal);
  ExpectFailed(Failure::kUnreachable, 0);
}

TEST_F(HostileSource, NeverAnswersTheHandshake) {
  RawPeer peer = listener_.Accept();
  ExpectFailed(Failure::kUnreachable, 0);
}

TEST_F(HostileSource, SendsPiecesOfTheWrongSize) {
  RawPeer peer = Greeted();
  SendBlock(peer, 0);
  wire::Data data = HeadOf(1);
  ++data.payload_bytes;
  peer.Send(data);
  ExpectFailed(Failure::kBroken, 1);
}

TEST_F(HostileSource, SendsMoreBlocksThanThePieceHolds) {
  RawPeer peer = Greeted();
  wire::Data data = HeadOf(0);
  data.block_count = 2;
  peer.Send(data);
  ExpectFailed(Failure::kBroken, 0);
}

TEST_F(HostileSource, SendsBlocksThatWereNotAskedFor) {
  RawPeer peer = Greeted();
  SendBlock(peer, 2);
  ExpectFailed(Failure::kBroken, 0);
}

TEST_F(HostileSource, SendsABlockTwice) {
  RawPeer peer = Greeted();
  SendBlock(peer, 0);
  SendBlock(peer, 0);
  ExpectFailed(Failure::kBroken, 1);
}

TEST_F(HostileSource, SendsAnotherStripe) {
  RawPeer peer = Greeted();
  wire::Data data = HeadOf(0);
  data.stripe = 1;
  peer.Send(data);
  ExpectFailed(Failure::kBroken, 0);
}

TEST_F(HostileSource, SendsBlocksBeyondTheEnd) {
  RawPeer peer = Greeted();
  for (std::uint32_t block = 0; block < layout_.block_count(); ++block) SendBlock(peer, block);
  wire::Data data = HeadOf(0);
  data.first_block = static_cast<std::uint32_t>(layout_.block_count());
  peer.Send(data);
  ExpectFailed(Failure::kBroken, static_cast<std::uint32_t>(layout_.block_count()));
}

TEST_F(HostileSource, SendsBytesThatFailTheirChecksum) {
  ::testing::internal::CaptureStderr();
  RawPeer peer = Greeted();
  SendBlock(peer, 0);
  wire::Data data = HeadOf(1);
  ++data.checksums[0];
  peer.Send(data);
  peer.Send(PayloadOf(1));
  ExpectFailed(Failure::kCorrupt, 1);
  EXPECT_EQ(parts_.counters.corrupt_blocks, 1u);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("villain"), std::string::npos) << log;
}

TEST_F(HostileSource, CallsItFinalTooEarly) {
  RawPeer peer = Greeted();
  SendBlock(peer, 0);
  peer.Send(wire::End{wire::EndReason::kFinal, 1});
  ExpectFailed(Failure::kBroken, 1);
}

TEST_F(HostileSource, EndsAStripeThatItWasNotAskedFor) {
  RawPeer peer = Greeted();
  for (std::uint32_t block = 0; block < layout_.block_count(); ++block) SendBlock(peer, block);
  peer.Send(wire::End{wire::EndReason::kFinal, 0b10});
  ExpectFailed(Failure::kBroken, static_cast<std::uint32_t>(layout_.block_count()));
}

TEST_F(HostileSource, SendsFramesThatOnlyReceiversSend) {
  RawPeer peer = Greeted();
  peer.Send(wire::Credit{1});
  ExpectFailed(Failure::kBroken, 0);
}

TEST_F(HostileSource, ClosesInTheMiddleOfABlock) {
  {
    RawPeer peer = Greeted();
    SendBlock(peer, 0);
    peer.Send(HeadOf(1));
    peer.Send(PayloadOf(1).first(1000));
  }
  ExpectFailed(Failure::kBroken, 1);
}

TEST_F(HostileSource, FallsSilent) {
  RawPeer peer = Greeted();
  SendBlock(peer, 0);
  ExpectFailed(Failure::kStalled, 1);
}

TEST_F(HostileSource, FallsSilentInTheMiddleOfABlock) {
  RawPeer peer = Greeted();
  peer.Send(HeadOf(0));
  peer.Send(PayloadOf(0).first(1000));
  ExpectFailed(Failure::kStalled, 0);
}

// The source lives, has credit, does not claim to wait for bytes itself, and sends none.
TEST_F(HostileSource, SendsNothingButSignsOfLife) {
  RawPeer peer = Greeted();
  auto end = std::async(std::launch::async, [this] { return End(); });
  while (end.wait_for(20ms) == std::future_status::timeout) peer.Send(wire::KeepAlive());
  EXPECT_EQ(end.get().failure, Failure::kStalled);
}

// A source that waits for its own source is waited for, as long as it says so.
TEST_F(HostileSource, StarvesHonestly) {
  RawPeer peer = Greeted();
  for (std::uint32_t i = 1; i < 40; ++i) {
    peer.Send(wire::KeepAlive{i * 50});
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_GT(lane_->starved_for(), 1s);
  for (std::uint32_t block = 0; block < layout_.block_count(); ++block) SendBlock(peer, block);
  peer.Send(wire::End{wire::EndReason::kFinal, 1});
  EXPECT_EQ(End().outcome, Outcome::kDone);
}

TEST_F(HostileSource, SaysThatItHasNothingBetter) {
  RawPeer peer = Greeted();
  peer.Send(wire::End{wire::EndReason::kNotAhead});
  ExpectFailed(Failure::kNotAhead, 0);
}

}  // namespace
}  // namespace hoplite::node
