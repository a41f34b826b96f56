// A fetch with its lanes, memory and place: what FlightState decides, carried out.
#include "node/pull/flight.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "net/handshake.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using hoplite::testing::TransportByHand;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::uint64_t kFetchedBytes = 128_KiB;
const Version kOlder{{1, 5}};
const Version kNewer{{1, 6}};

class FlightTest : public ::testing::Test {
 protected:
  protocol::Grant GrantOf(std::uint64_t number, const protocol::NodeInfo& source,
                          StripeMask stripes) const {
    return {.object = object_,
            .version = kOlder,
            .grant = {{1, number}},
            .source = source,
            .stripes = stripes};
  }
  // Somebody waits for the object; it was located, and its Want is said.
  void Want() {
    answer_ = node_.Ask(node_.calls().Get(object_, call_));
    EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
    node_.Hear(protocol::Located{object_, kOlder, layout_, ""});
    EXPECT_THAT(node_.Says(), ElementsAre("want x"));
  }
  store::CopyPtr Listed() { return node_.parts().store.Find(object_); }
  bool flying() { return node_.parts().table.At(object_)->flight() != nullptr; }

  NodeByHand node_;
  const ObjectId object_ = node_.Named("x");
  const std::string bytes_ = std::string(kFetchedBytes - 100, 'a') + std::string(100, 'b');
  const Layout layout_ = Layout::For(kFetchedBytes, 2);
  const protocol::NodeInfo& left_ = node_.AddPeer(2, bytes_, layout_);
  const protocol::NodeInfo& right_ = node_.AddPeer(3, bytes_, layout_, false);
  const protocol::NodeInfo silent_{NodeId{4}, "n4", TransportByHand::kNowhere};
  const CallPtr call_ = node_.NewCall();
  NodeByHand::Answer<Result<store::CopyPtr>> answer_;
};

TEST_F(FlightTest, StripesOfTwoSourcesBecomeOneCopy) {
  Want();
  node_.Hear(GrantOf(1, right_, 0b10));
  EXPECT_THAT(node_.Says(), ElementsAre("closed x failed")) << "it says no END";
  node_.Hear(GrantOf(2, left_, 0b01));
  EXPECT_THAT(node_.Says(), ElementsAre("closed x done", "complete x"));
  ASSERT_TRUE(*answer_ && **answer_);
  const store::CopyPtr copy = ***answer_;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(copy->bytes().data()), kFetchedBytes),
            bytes_);
  EXPECT_EQ(Listed(), copy);
  EXPECT_FALSE(flying());
}

TEST_F(FlightTest, WhyNamesAMakerAndALinkThatAreSlow) {
  Want();
  node_.Hear(GrantOf(1, silent_, 0b11));
  node_.directory().view = protocol::ObjectView{.size_bytes = 1000,
                                                .holders = {{.node = silent_.id,
                                                             .node_name = silent_.name,
                                                             .producing = true,
                                                             .valid_bytes = 300,
                                                             .bytes_per_second = 12_MiB,
                                                             .rate_age = 40s}}};
  const auto why = node_.Ask(node_.calls().Why(object_, node_.NewCall()));
  ASSERT_TRUE(*why);
  EXPECT_THAT((**why).text,
              HasSubstr(" bytes from n4; the link of n4 carried 12.0 MiB a second, 40 s ago; "
                        "n4, which makes it, has 300 of 1000 bytes so far"));
  call_->Cancel();
  node_.transport().FailConnect();
  node_.Turn();
}

TEST_F(FlightTest, AFetchThatNobodyWaitsForGivesEverythingBack) {
  Want();
  node_.Hear(GrantOf(1, silent_, 0b11));
  call_->Cancel();
  node_.Turn();
  ASSERT_TRUE(*answer_ && !**answer_);
  EXPECT_EQ((**answer_).error().code, ErrorCode::kCancelled);
  EXPECT_THAT(node_.Says(), ElementsAre("cancel want x"));
  EXPECT_NE(Listed(), nullptr) << "a lane may still write to it";
  node_.transport().FailConnect();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned", "gone x"));
  EXPECT_EQ(Listed(), nullptr);
  EXPECT_EQ(node_.parts().store.usage().used_bytes, 0u);
  EXPECT_FALSE(flying());
}

// R15: the shard sends the bytes that it has to who waits in vain.
TEST_F(FlightTest, TakesTheBytesOfTheShardWhereNoStreamBringsAny) {
  Want();
  node_.Hear(GrantOf(1, silent_, 0b01));
  node_.Hear(protocol::InlineObject{object_, kOlder, "", std::make_shared<std::string>(bytes_)});
  EXPECT_FALSE(*answer_) << "a lane may still write to the other stripe";
  EXPECT_EQ(Listed()->mark(0), 0u);
  EXPECT_EQ(Listed()->mark(1), layout_.stripe_block_count(1));
  node_.transport().FailConnect();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned", "complete x")) << "it was stopped";
  ASSERT_TRUE(*answer_ && **answer_);
  const store::CopyPtr copy = ***answer_;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(copy->bytes().data()), kFetchedBytes),
            bytes_);
  EXPECT_EQ(Listed(), copy) << "others may be sent here";
  EXPECT_EQ(copy->checksum(0), BlockChecksum(copy->bytes().first(layout_.block_bytes)));
}

TEST_F(FlightTest, BytesOfAnotherVersionOrSizeAreOfNoUseToIt) {
  Want();
  const auto give = [&](Version version, const std::string& bytes) {
    node_.Hear(protocol::InlineObject{object_, version, "", std::make_shared<std::string>(bytes)});
  };
  give(kNewer, bytes_);
  give(kOlder, bytes_ + "c");
  EXPECT_FALSE(*answer_);
  EXPECT_EQ(Listed()->mark(0), 0u);
  give(kOlder, bytes_);
  EXPECT_TRUE(*answer_);
  EXPECT_THAT(node_.Says(), ElementsAre("complete x"));
}

// A peer that hears what it is asked for, and says nothing.
class AskedPeer {
 public:
  explicit AskedPeer(NodeByHand& node) : node_(node) {
    listener_ = *node_.transport().Listen(info_.address, [this](net::StreamPtr stream) {
      node_.parts().runtime.Spawn(stream->loop(), "a peer", Hear(std::move(stream)));
    });
  }
  const protocol::NodeInfo& info() const { return info_; }
  const std::vector<wire::Fetch>& asked() const { return asked_; }

 private:
  net::Task<void> Hear(net::StreamPtr stream) {
    const net::Identity self{node_.parts().settings.cluster_id, info_.id};
    const auto greeted = co_await net::Answer(stream, self);
    if (!greeted) co_return;
    const auto frame = co_await (*greeted)->reader.Next();
    const auto* fetch = frame ? std::get_if<wire::Fetch>(&*frame) : nullptr;
    if (fetch != nullptr) asked_.push_back(*fetch);
    static_cast<void>(co_await (*greeted)->reader.Next());  // until the node leaves
    stream->Close();
  }

  NodeByHand& node_;
  const protocol::NodeInfo info_{NodeId{7}, "n7", "n7:1"};
  std::unique_ptr<net::Listener> listener_;
  std::vector<wire::Fetch> asked_;
};

// A whole copy has room for each block, and takes them as they come (R19).
TEST_F(FlightTest, ACopyAsksForBlocksInAnyOrder) {
  const AskedPeer peer(node_);
  Want();
  node_.Hear(GrantOf(1, peer.info(), 0b11));
  ASSERT_EQ(peer.asked().size(), 1u);
  EXPECT_FALSE(peer.asked().front().ordered);
}

TEST_F(FlightTest, AWindowAsksForBlocksInOrder) {
  const AskedPeer peer(node_);
  const auto answer = node_.Ask(node_.calls().OpenWindow(object_, call_));
  node_.Says();
  const Layout larger = Layout::For(8_MiB, 2);  // than the node's store
  node_.Hear(protocol::Located{object_, kOlder, larger, ""});
  EXPECT_THAT(node_.Says(), ElementsAre("want x"));
  node_.Hear(GrantOf(1, peer.info(), 0b11));
  ASSERT_EQ(peer.asked().size(), 1u);
  EXPECT_TRUE(peer.asked().front().ordered);
}

// From 32 MiB on (R19).
TEST(LargeFlight, AGrantThatFeedsTheCopyAloneHasTwoLanes) {
  NodeByHand node(48_MiB);
  const AskedPeer peer(node);
  const ObjectId object = node.Named("x");
  const Layout layout = Layout::For(32_MiB, 4);
  const auto answer = node.Ask(node.calls().Get(object, node.NewCall()));
  node.Hear(protocol::Located{object, kOlder, layout, ""});
  const auto grant = [&](std::uint64_t number, StripeMask stripes) {
    node.Hear(protocol::Grant{.object = object,
                              .version = kOlder,
                              .grant = {{1, number}},
                              .source = peer.info(),
                              .stripes = stripes});
  };
  grant(1, 0b0011);
  grant(2, 0b1100);
  EXPECT_THAT(peer.asked(), ElementsAre(Field(&wire::Fetch::stripes, 0b0011),
                                        Field(&wire::Fetch::stripes, 0b1100)));
  node.Hear(protocol::Recall{object, kNewer});
  node.Hear(protocol::Located{object, kNewer, layout, ""});
  node.Hear(protocol::Grant{.object = object,
                            .version = kNewer,
                            .grant = {{1, 3}},
                            .source = peer.info(),
                            .stripes = 0b1111});
  ASSERT_EQ(peer.asked().size(), 4u);
  EXPECT_EQ(peer.asked()[2].stripes, 0b0101u);
  EXPECT_EQ(peer.asked()[3].stripes, 0b1010u);
}

// Where the node stands in the line of one object matters to those of the others.
TEST_F(FlightTest, AWantTellsWhetherOtherObjectsAreFetchedToo) {
  Want();
  const ObjectId other = node_.Named("y");
  const ObjectId third = node_.Named("z");
  const CallPtr call = node_.NewCall();
  const auto second = node_.Ask(node_.calls().Get(other, call));
  EXPECT_THAT(node_.Says(), ElementsAre("locate y"));
  node_.Hear(protocol::Located{other, kOlder, layout_, ""});
  EXPECT_THAT(node_.Says(), ElementsAre("want y jointly"));
  node_.Hear(GrantOf(1, left_, 0b11));
  EXPECT_THAT(node_.Says(), ElementsAre("want x jointly", "closed x done", "complete x"));
  call->Cancel();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("cancel want y", "gone y"));
  const auto last = node_.Ask(node_.calls().Get(third, node_.NewCall()));
  node_.Hear(protocol::Located{third, kOlder, layout_, ""});
  EXPECT_THAT(node_.Says(), ElementsAre("locate z", "want z jointly"))
      << "the others were there lately";
}

// All bytes are there, and one END; a lane of the other stripe hangs in its connect.
class FlightThatEnds : public FlightTest {
 protected:
  FlightThatEnds() {
    Want();
    node_.Hear(GrantOf(1, right_, 0b10));
    node_.Hear(GrantOf(2, silent_, 0b10));
    node_.Hear(GrantOf(3, left_, 0b01));
    EXPECT_THAT(node_.Says(), ElementsAre("closed x failed", "closed x done", "complete x"));
    copy_ = Listed();
    EXPECT_EQ(copy_->state(), store::CopyState::kFinal);
    EXPECT_TRUE(flying());
  }
  void LastStreamEnds() {
    node_.transport().FailConnect();
    node_.Turn();
  }

  store::CopyPtr copy_;
};

TEST_F(FlightThatEnds, KeepsItsCopy) {
  LastStreamEnds();
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned"));
  EXPECT_EQ(Listed(), copy_);
  EXPECT_FALSE(flying());
  ASSERT_TRUE(*answer_ && **answer_);
  EXPECT_EQ(***answer_, copy_);
}

TEST_F(FlightThatEnds, DropsACopyThatIsDeletedMeanwhile) {
  node_.Hear(protocol::Deleted{object_, 60s, kNewer});
  ASSERT_TRUE(*answer_ && !**answer_);
  EXPECT_EQ((**answer_).error().code, ErrorCode::kDeleted);
  LastStreamEnds();
  EXPECT_EQ(Listed(), nullptr);
  EXPECT_EQ(copy_->void_reason(), store::VoidReason::kDeleted);
  EXPECT_FALSE(flying());
}

TEST_F(FlightThatEnds, DropsACopyThatIsPutAnewMeanwhile) {
  node_.Hear(protocol::Recall{object_, kNewer});
  LastStreamEnds();
  EXPECT_EQ(Listed(), nullptr);
  EXPECT_EQ(copy_->void_reason(), store::VoidReason::kRecalled);
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned", "locate x")) << "somebody waits";
  EXPECT_FALSE(*answer_);
}

TEST_F(FlightThatEnds, GivesWhoeverAsksAfterARecallTheNewVersionOnly) {
  node_.Says();
  node_.Hear(protocol::Recall{object_, kNewer});
  const auto later = node_.Ask(node_.calls().Get(object_, node_.NewCall()));
  EXPECT_FALSE(*later) << "the old one is still there";
  node_.transport().FailConnect();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("closed x abandoned", "locate x"));
}

}  // namespace
}  // namespace hoplite::node
