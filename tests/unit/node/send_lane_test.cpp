// In which order a source sends the blocks of a FETCH (R19), and when it says which stripes end
// (R64). The test is the receiver.
#include "node/streams/send_lane.h"

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "net/handshake.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const Version kSent{{1, 5}};
// Ten blocks in runs of two: stripe 0 has the blocks 0 1 4 5 8 9, stripe 1 has 2 3 6 7.
constexpr std::uint32_t kSentBlock = 4096;
constexpr Layout kSentLayout{.size_bytes = 10 * kSentBlock,
                             .block_bytes = kSentBlock,
                             .run_bytes = 2 * kSentBlock,
                             .stripe_count = 2};

std::byte ByteOf(std::uint64_t block) { return static_cast<std::byte>('a' + block); }

class SendLaneTest : public ::testing::Test {
 protected:
  SendLaneTest() {
    copy_ = *node_.parts().store.Create(x_, kSentLayout, "", store::CopyKind::kPrimary);
    copy_->set_version(kSent);
    copy_->set_made_here(kSentLayout.all_stripes());
  }
  void TearDown() override {
    if (connection_) connection_->stream->Close();
    node_.Turn();
  }
  // The source's copy has so many blocks of each stripe.
  void Grow(const StripeMarks& marks) {
    for (std::uint32_t s = 0; s < kSentLayout.stripe_count; ++s) {
      for (std::uint32_t i = copy_->mark(s); i < marks[s]; ++i) Fill(kSentLayout.block_at(s, i));
      copy_->Advance(s, marks[s]);
    }
    node_.Turn();
  }
  void Seal() { Seal(kSentLayout.all_stripes()); }
  void Seal(StripeMask stripes) {
    ASSERT_TRUE(copy_->Seal(stripes));
    node_.Turn();
  }

  wire::Fetch Everything(bool ordered) const {
    return {.object = x_,
            .version = kSent,
            .stripes = kSentLayout.all_stripes(),
            .credit_bytes = kSentLayout.size_bytes,
            .next = kSentLayout.empty_marks(),
            .ordered = ordered};
  }
  void Ask(wire::Fetch fetch) {
    unended_ = fetch.stripes;
    receiver_ = node_.Ask(Receive(std::move(fetch)));
  }
  void GiveCredit(std::uint64_t limit_bytes) {
    const auto sent = node_.Ask(Say(wire::Credit{limit_bytes}));
    ASSERT_TRUE(*sent && **sent);
  }
  // What came since the last look: the blocks of each piece, and the end.
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }
  bool receiver_done() const { return receiver_ && *receiver_; }

  NodeByHand node_;
  const ObjectId x_ = node_.Named("x");
  store::CopyPtr copy_;

 private:
  void Fill(std::uint64_t block) {
    const ByteRange range = kSentLayout.block_range(block);
    const auto bytes = copy_->bytes().subspan(range.begin, range.size());
    std::ranges::fill(bytes, ByteOf(block));
    copy_->SetChecksum(block, BlockChecksum(bytes));
  }

  net::Task<bool> Say(wire::Frame frame) {
    const auto sent = co_await connection_->Send(std::move(frame));
    co_return sent.has_value();
  }

  net::Task<bool> Receive(wire::Fetch fetch) {
    const auto stream = co_await node_.transport().Connect("n1:1", 1s);
    if (!stream) co_return false;
    const net::Identity self{node_.parts().settings.cluster_id, NodeId{2}};
    const NodeId expected{1};
    const auto greeted = co_await net::Greet(*stream, self, expected);
    if (!greeted) co_return false;
    const net::ConnectionPtr connection = connection_ = *greeted;
    wire::Frame asked(std::move(fetch));
    const auto sent = co_await connection->Send(std::move(asked));
    while (sent) {
      const auto frame = co_await connection->reader.Next();
      if (!frame) break;
      if (const auto* data = std::get_if<wire::Data>(&*frame)) {
        const wire::Data piece = *data;
        if (!co_await TakePiece(piece)) break;
      } else if (const auto* end = std::get_if<wire::End>(&*frame)) {
        const bool of_all = end->stripes == kSentLayout.all_stripes();
        heard_.push_back("end: " + std::string(Name(end->reason)) +
                         (of_all ? "" : " " + std::to_string(end->stripes)));
        unended_ &= ~end->stripes;
        if (unended_ != 0) continue;
        wire::Frame done{wire::Done{}};
        const auto said = co_await connection->Send(std::move(done));
        co_return said.has_value();
      }
    }
    co_return false;
  }

  net::Task<bool> TakePiece(wire::Data piece) {
    std::vector<std::byte> bytes(piece.payload_bytes);
    const auto got = co_await connection_->reader.ReceivePayload(bytes);
    if (!got) co_return false;
    std::string blocks;
    for (std::uint32_t i = 0; i < piece.block_count; ++i) {
      const std::uint64_t block = kSentLayout.block_at(piece.stripe, piece.first_block + i);
      const auto whole = std::span(bytes).subspan(std::size_t{i} * kSentBlock, kSentBlock);
      EXPECT_EQ(whole.front(), ByteOf(block));
      EXPECT_EQ(piece.checksums[i], BlockChecksum(whole)) << "block " << block;
      blocks += (i == 0 ? "" : " ") + std::to_string(block);
    }
    heard_.push_back(blocks);
    co_return true;
  }

  net::ConnectionPtr connection_;
  NodeByHand::Answer<bool> receiver_;
  std::vector<std::string> heard_;
  StripeMask unended_ = 0;
};

TEST_F(SendLaneTest, StripesAtDifferentStagesDoNotWaitForEachOther) {
  Ask(Everything(false));
  Grow({0, 2});
  EXPECT_THAT(Heard(), ElementsAre("2 3")) << "blocks 0 and 1 are not here";
  Grow({1, 2});
  EXPECT_THAT(Heard(), ElementsAre("0"));
  Grow({6, 3});
  EXPECT_THAT(Heard(), ElementsAre("1", "4 5", "6", "8 9")) << "of what is here, the lowest first";
}

TEST_F(SendLaneTest, AHoleInTheMiddleIsFilledLate) {
  Grow({2, 4});
  Ask(Everything(false));
  EXPECT_THAT(Heard(), ElementsAre("0 1", "2 3", "6 7"));
  node_.Pass(500ms);
  EXPECT_THAT(Heard(), IsEmpty()) << "the hole is still there";
  Grow({4, 4});
  EXPECT_THAT(Heard(), ElementsAre("4 5"));
  Grow({6, 4});
  EXPECT_THAT(Heard(), ElementsAre("8 9"));
  Seal();
  EXPECT_THAT(Heard(), ElementsAre("end: final"));
}

TEST_F(SendLaneTest, WhatIsAskedForInOrderStaysInOrder) {
  Grow({2, 4});
  Ask(Everything(true));
  EXPECT_THAT(Heard(), ElementsAre("0 1", "2 3"));
  node_.Pass(300ms);
  EXPECT_THAT(Heard(), IsEmpty()) << "blocks 6 and 7 wait for 4 and 5";
  Grow({3, 4});
  EXPECT_THAT(Heard(), ElementsAre("4"));
  Grow({6, 4});
  EXPECT_THAT(Heard(), ElementsAre("5", "6 7", "8 9"));
  Seal();
  EXPECT_THAT(Heard(), ElementsAre("end: final"));
}

TEST_F(SendLaneTest, BlocksOutOfOrderCountAgainstTheCredit) {
  Grow({0, 4});
  wire::Fetch fetch = Everything(false);
  fetch.credit_bytes = 3 * kSentBlock;
  Ask(fetch);
  EXPECT_THAT(Heard(), ElementsAre("2 3", "6"));
  Grow({2, 4});
  EXPECT_THAT(Heard(), IsEmpty()) << "the credit is used up";
  GiveCredit(5 * kSentBlock);
  EXPECT_THAT(Heard(), ElementsAre("0 1")) << "lower than 7, and here by now";
  GiveCredit(6 * kSentBlock);
  EXPECT_THAT(Heard(), ElementsAre("7"));
}

// A receiver that lacks a part of one stripe only.
TEST_F(SendLaneTest, StripesThatWereNotAskedForHoldNothingUp) {
  Grow({0, 3});
  wire::Fetch fetch = Everything(true);
  fetch.stripes = 0b10;
  fetch.next = {0, 1};
  Ask(fetch);
  EXPECT_THAT(Heard(), ElementsAre("3", "6"));
}

// Parts of a reduction wait for each other's stripes.
TEST_F(SendLaneTest, AStripeThatIsSentEndsAsSoonAsItIsFinal) {
  Grow({3, 4});
  Ask(Everything(false));
  EXPECT_THAT(Heard(), ElementsAre("0 1", "2 3", "4", "6 7"));
  Seal(0b10);
  EXPECT_THAT(Heard(), ElementsAre("end: final 2"));
  Grow({6, 4});
  EXPECT_THAT(Heard(), ElementsAre("5", "8 9"));
  Seal(0b01);
  EXPECT_THAT(Heard(), ElementsAre("end: final 1"));
  EXPECT_TRUE(receiver_done());
}

TEST_F(SendLaneTest, AStripeThatIsFinalEndsWhenItIsSent) {
  Grow({1, 4});
  Seal(0b10);
  wire::Fetch fetch = Everything(false);
  fetch.credit_bytes = 3 * kSentBlock;
  Ask(fetch);
  EXPECT_THAT(Heard(), ElementsAre("0", "2 3"));
  GiveCredit(kSentLayout.size_bytes);
  EXPECT_THAT(Heard(), ElementsAre("6 7", "end: final 2"));
}

TEST_F(SendLaneTest, WhatIsFinalAsAWholeEndsOnce) {
  Grow({6, 4});
  Seal();
  wire::Fetch fetch = Everything(false);
  fetch.credit_bytes = 8 * kSentBlock;
  Ask(fetch);
  EXPECT_THAT(Heard(), ElementsAre("0 1", "2 3", "4 5", "6 7"));
  GiveCredit(kSentLayout.size_bytes);
  EXPECT_THAT(Heard(), ElementsAre("8 9", "end: final"));
}

TEST_F(SendLaneTest, ACopyThatBecomesVoidEndsForAllThatIsLeft) {
  Grow({2, 4});
  Seal(0b10);
  Ask(Everything(false));
  EXPECT_THAT(Heard(), ElementsAre("0 1", "2 3", "6 7", "end: final 2"));
  copy_->Void(store::VoidReason::kRecalled);
  node_.Turn();
  EXPECT_THAT(Heard(), ElementsAre("end: recalled 0"));
}

}  // namespace
}  // namespace hoplite::node
