// What a node answers to a FETCH of a peer, which the test plays.
#include "node/serve/serve.h"

#include <optional>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/handshake.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using ::testing::ElementsAre;
using namespace std::chrono_literals;

const Version kVersion{{1, 5}};
const Version kOfItsSource{{1, 4}};
const GrantId kWord{{1, 7}};
constexpr std::uint64_t kBytes = 128_KiB;
constexpr std::uint32_t kSlot = 2;

class ServeTest : public ::testing::Test {
 protected:
  // A client has asked for room for the object; the shard has not answered yet.
  void Create() {
    draft_ = node_.Ask(node_.calls().Create(x_, kBytes, "", node_.NewCall()));
    ASSERT_TRUE(*draft_ && **draft_);
    EXPECT_THAT(node_.Says(), ElementsAre("create x"));
  }
  void Write() {
    const auto& draft = ***draft_;
    ASSERT_TRUE(draft->Advance(kBytes, {}));
    node_.Turn();
  }
  // A peer asks for all of it, or for some stripes. Its answer: the first frame that it hears.
  NodeByHand::Answer<std::optional<wire::Frame>> Fetch(std::uint64_t has_bytes = 0) {
    return node_.Ask(FetchFrom(has_bytes, layout_.all_stripes()));
  }
  // The shard has allowed that this copy has as much as the peer.
  NodeByHand::Answer<std::optional<wire::Frame>> FetchByWord(std::uint64_t has_bytes) {
    return node_.Ask(FetchFrom(has_bytes, layout_.all_stripes(), 0, kWord));
  }
  NodeByHand::Answer<std::optional<wire::Frame>> FetchOfSlot() {
    return node_.Ask(FetchFrom(0, layout_.all_stripes(), kSlot));
  }
  // A slot without children; with one source that is its output.
  void AssignSlot(Version version, std::vector<protocol::SlotInput> more = {}) {
    std::vector<protocol::SlotInput> inputs{{source_, kOfItsSource}};
    inputs.insert(inputs.end(), more.begin(), more.end());
    node_.Hear(protocol::SlotAssigned{.object = x_,
                                      .version = version,
                                      .order = {.slot = kSlot,
                                                .parents = {1},
                                                .stripes = layout_.all_stripes(),
                                                .node = NodeId{1},
                                                .inputs = std::move(inputs)},
                                      .layout = layout_,
                                      .fold = {},
                                      .metadata = ""});
  }
  // Takes what is left of the store.
  store::CopyPtr Fill() {
    const auto usage = node_.parts().store.usage();
    net::Signal signal(node_.parts().runtime.main());
    MemoryBroker::Waiter waiter(node_.parts().memory, signal);
    const Layout rest = Layout::For(usage.capacity_bytes - usage.used_bytes);
    return waiter.Try(node_.Named("y"), rest, "").value_or(nullptr);
  }
  void KeepSource() {
    node_.Keep(source_, std::string(kBytes, 'a'), kOfItsSource, store::CopyKind::kPrimary);
  }
  NodeByHand::Answer<std::optional<wire::Frame>> FetchOf(StripeMask stripes) {
    return node_.Ask(FetchFrom(0, stripes));
  }

  // A copy that comes from elsewhere, and grows.
  void Relay() {
    relayed_ = *node_.parts().store.Create(x_, layout_, "", store::CopyKind::kRelayed);
    relayed_->set_version(kVersion);
  }
  void Grow(std::uint32_t blocks, std::uint32_t stripe = 0) {
    relayed_->Advance(stripe, blocks);
    node_.Turn();
  }
  NodeByHand node_;
  Layout layout_ = Layout::For(kBytes);
  store::CopyPtr relayed_;
  const ObjectId x_ = node_.Named("x");
  const ObjectId source_ = node_.Named("source");
  NodeByHand::Answer<Result<std::shared_ptr<Draft>>> draft_;

 private:
  net::Task<std::optional<wire::Frame>> FetchFrom(std::uint64_t has_bytes, StripeMask stripes,
                                                  std::uint32_t slot = 0, GrantId word = {}) {
    const auto stream = co_await node_.transport().Connect("n1:1", 1s);
    if (!stream) co_return std::nullopt;
    const net::Identity self{node_.parts().settings.cluster_id, NodeId{2}};
    const NodeId expected{1};
    const auto greeted = co_await net::Greet(*stream, self, expected);
    if (!greeted) co_return std::nullopt;
    wire::Frame fetch{wire::Fetch{.object = x_,
                                  .version = kVersion,
                                  .grant = word,
                                  .slot = slot,
                                  .stripes = stripes,
                                  .credit_bytes = kBytes,
                                  .next = layout_.marks_of_prefix(has_bytes),
                                  .equality_ok = bool(word)}};
    const auto sent = co_await (*greeted)->Send(std::move(fetch));
    if (!sent) co_return std::nullopt;
    auto heard = co_await (*greeted)->reader.Next();
    (*stream)->Close();
    if (!heard) co_return std::nullopt;
    co_return *std::move(heard);
  }
};

TEST_F(ServeTest, AFetchThatOvertakesTheShardsAnswerIsHeld) {
  Create();
  Write();
  const auto heard = Fetch();
  EXPECT_FALSE(*heard) << "the version is not known here yet";
  node_.Hear(protocol::CreateAccepted{x_, kVersion});
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

TEST_F(ServeTest, AFetchIsNotHeldForLong) {
  Create();
  Write();
  const auto heard = Fetch();
  node_.Pass(250ms);
  EXPECT_FALSE(*heard);
  node_.Pass(100ms);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kUnknown);
}

TEST_F(ServeTest, AFetchThatCanBeServedIsNotHeldByAPutOfTheSameObject) {
  Create();
  node_.Keep(x_, std::string(kBytes, 'a'), kVersion, store::CopyKind::kRelayed);
  const auto heard = Fetch();
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

TEST_F(ServeTest, AFetchThatOvertakesTheOrderToMakeTheTargetIsHeld) {
  const ObjectId source = node_.Named("source");
  node_.Keep(source, std::string(kBytes, 'a'), kOfItsSource, store::CopyKind::kPrimary);
  const auto heard = Fetch();
  EXPECT_FALSE(*heard) << "the node knows nothing of the object yet";
  node_.Hear(protocol::SlotAssigned{.object = x_,
                                    .version = kVersion,
                                    .order = {.slot = 1,
                                              .parents = {},
                                              .stripes = 1,
                                              .node = NodeId{1},
                                              .inputs = {{source, kOfItsSource}}},
                                    .layout = Layout::For(kBytes),
                                    .fold = {},
                                    .metadata = ""});
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

TEST_F(ServeTest, AFetchOfASlotThatOvertakesItsOrderIsHeld) {
  const auto heard = FetchOfSlot();
  EXPECT_FALSE(*heard) << "the node knows nothing of the reduction yet";
  KeepSource();
  AssignSlot(kVersion);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

TEST_F(ServeTest, AFetchOfASlotThatOvertakesItsMemoryIsHeld) {
  KeepSource();
  const ObjectId other = node_.Named("other");
  node_.Keep(other, std::string(kBytes, 'a'), kOfItsSource, store::CopyKind::kPrimary);
  store::CopyPtr all = Fill();
  AssignSlot(kVersion, {{other, kOfItsSource}});
  const auto heard = FetchOfSlot();
  EXPECT_FALSE(*heard) << "the slot has no memory for the sum of two sources";
  all.reset();
  node_.parts().memory.OnSpace();
  node_.Turn();
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

TEST_F(ServeTest, AFetchOfASlotIsNotHeldForLong) {
  const auto heard = FetchOfSlot();
  node_.Pass(250ms);
  EXPECT_FALSE(*heard);
  node_.Pass(100ms);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kUnknown);
}

TEST_F(ServeTest, AHeldFetchOfASlotHearsThatTheOrderIsNewer) {
  const auto heard = FetchOfSlot();
  EXPECT_FALSE(*heard);
  KeepSource();
  AssignSlot({{1, 6}});
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kUnknown);
}

TEST_F(ServeTest, AHeldFetchOfASlotHearsThatItsTargetIsDeleted) {
  const auto heard = FetchOfSlot();
  EXPECT_FALSE(*heard);
  node_.Hear(protocol::Deleted{x_, 60s, {{1, 6}}});
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kDeleted);
}

TEST_F(ServeTest, AFetchOfAnOlderVersionIsRefusedAtOnce) {
  node_.Keep(x_, std::string(kBytes, 'a'), {{1, 6}}, store::CopyKind::kRelayed);
  const auto heard = Fetch();
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kUnknown);
}

TEST_F(ServeTest, AFetchOfWhatIsDeletedIsRefusedAtOnce) {
  node_.Hear(protocol::Deleted{x_, 60s, {{1, 6}}});
  const auto heard = Fetch();
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kDeleted);
}

// Its receiver was moved behind a newcomer, and had got more than the shard knew (R7).
TEST_F(ServeTest, AFetchOfWhoIsAheadIsHeldUntilThisCopyIs) {
  Relay();
  Grow(1);
  const auto heard = Fetch(2 * Layout::For(kBytes).block_bytes);
  EXPECT_FALSE(*heard) << "this copy has less";
  node_.Pass(50ms);
  Grow(2);
  EXPECT_FALSE(*heard) << "this copy has as much";
  Grow(3);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

// Blocks of one stripe come before lower ones of another (R19): who has more in all may have less of
// one stripe, and pull that from its receiver.
TEST_F(ServeTest, AFetchIsHeldUntilThisCopyIsAheadInEachStripe) {
  layout_ = Layout::For(kBytes, 2);
  Relay();
  Grow(4, 1);
  const auto heard = Fetch();
  EXPECT_FALSE(*heard) << "of stripe 0 it has as much";
  node_.Pass(50ms);
  Grow(1, 0);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

TEST_F(ServeTest, WhoHasAsMuchIsServedByTheShardsWord) {
  Relay();
  Grow(1);
  const auto heard = FetchByWord(layout_.block_bytes);
  node_.Pass(100ms);
  EXPECT_FALSE(*heard) << "it is served, and there is nothing yet";
  Grow(2);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***heard));
}

// The shard that has started again may send this node to somebody behind the peer (R7).
TEST_F(ServeTest, TheShardsWordThatWhoHasAsMuchIsServedEndsWithTheShard) {
  Relay();
  for (const bool back : {false, true}) {
    const std::uint32_t before = back ? 2 : 1;
    const auto heard = FetchByWord(std::uint64_t{before + 1} * layout_.block_bytes);
    node_.directory().open = back;
    node_.directory().incarnation = kWord.incarnation + 1;
    Grow(before + 1);
    node_.Pass(99ms);
    EXPECT_FALSE(*heard) << "this copy has as much";
    node_.Pass(1ms);
    ASSERT_TRUE(*heard && **heard);
    EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kNotAhead);
    node_.directory().incarnation = kWord.incarnation;
    node_.directory().open = true;
  }
}

TEST_F(ServeTest, AFetchOfWhoStaysAheadIsRefused) {
  Relay();
  const auto heard = Fetch(Layout::For(kBytes).block_bytes);
  node_.Pass(99ms);
  EXPECT_FALSE(*heard);
  node_.Pass(1ms);
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kNotAhead);
}

// A root of a reduction that makes a part of the target: of the rest it is a reader like any (R64).
TEST_F(ServeTest, WhatIsMadeHereInPartIsServedToAnybodyInThatPart) {
  layout_ = Layout::For(kBytes, 2);
  Relay();
  relayed_->set_made_here(0b10);
  const auto of_the_rest = FetchOf(0b01);
  const auto of_both = FetchOf(0b11);
  const auto of_the_part = FetchOf(0b10);
  node_.Pass(100ms);
  for (const auto& refused : {of_the_rest, of_both}) {
    ASSERT_TRUE(*refused && **refused);
    EXPECT_EQ(std::get<wire::End>(***refused).reason, wire::EndReason::kNotAhead);
  }
  EXPECT_FALSE(*of_the_part) << "it is served, and there is nothing yet";
  Grow(1, 1);
  ASSERT_TRUE(*of_the_part && **of_the_part);
  EXPECT_TRUE(std::holds_alternative<wire::Data>(***of_the_part));
}

TEST_F(ServeTest, AHeldFetchHearsThatTheCopyIsGone) {
  Relay();
  const auto heard = Fetch(Layout::For(kBytes).block_bytes);
  node_.parts().store.Remove(x_);
  relayed_->Void(store::VoidReason::kRecalled);
  node_.Turn();
  ASSERT_TRUE(*heard && **heard);
  EXPECT_EQ(std::get<wire::End>(***heard).reason, wire::EndReason::kUnknown);
}

}  // namespace
}  // namespace hoplite::node
