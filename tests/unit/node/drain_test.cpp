// A node that is to stop hands on what only it has, and takes nothing new (R70).
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/drain/drainage.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const Version kDrained{{1, 5}};
constexpr NodeId kPeer{7};

class DrainTest : public hoplite::testing::NodeByHandTest {
 protected:
  auto Drain(Time deadline = kNever) {
    return node_.Ask(node_.calls().Drain(node_.NewCall(deadline)));
  }
  NodeId LastTaker() {
    const auto& said = node_.directory().said;
    const auto* ask = said.empty() ? nullptr : std::get_if<protocol::EvictAsk>(&said.back());
    return ask == nullptr ? kNoNode : ask->taker;
  }
  void TellPeers() {
    ASSERT_TRUE(node_.directory().status) << "it looks for peers";
    protocol::StatusPage page;
    page.nodes.push_back({.node = {kPeer, "n7", ""},
                          .alive = true,
                          .usage = {.memory_bytes = 1_MiB, .used_bytes = 0}});
    std::exchange(node_.directory().status, nullptr)(page);
    node_.Turn();
  }
};

TEST_F(DrainTest, TheOnlyCopyStaysUntilItsTakerHasIt) {
  node_.Keep(x_, "bytes", kDrained, store::CopyKind::kPrimary);
  const auto drained = Drain();
  EXPECT_EQ(LastTaker(), kNoNode);
  EXPECT_THAT(node_.Says(), ElementsAre("evict? x"));
  node_.Hear(protocol::EvictAnswer{x_, kDrained, false});
  EXPECT_THAT(node_.Says(), IsEmpty());
  TellPeers();
  EXPECT_EQ(LastTaker(), kPeer);
  EXPECT_THAT(node_.Says(), ElementsAre("evict? x"));
  node_.Hear(protocol::EvictAnswer{x_, kDrained, false});
  EXPECT_NE(node_.parts().store.Find(x_), nullptr);
  node_.Pass(100ms);
  node_.Hear(protocol::EvictAnswer{x_, kDrained, true});
  EXPECT_EQ(node_.parts().store.Find(x_), nullptr);
  node_.Pass(100ms);
  ASSERT_TRUE(*drained && **drained);
  EXPECT_EQ((**drained)->handed_on, 1u);
  EXPECT_EQ((**drained)->left_count, 0u);
}

TEST_F(DrainTest, AtTheDeadlineItSaysWhatIsLeftAndWhy) {
  node_.Keep(x_, "bytes", kDrained, store::CopyKind::kPrimary);
  const auto drained = Drain(node_.now() + 1s);
  node_.Hear(protocol::EvictAnswer{x_, kDrained, false});
  node_.Pass(1s);
  ASSERT_TRUE(*drained && **drained);
  ASSERT_EQ((**drained)->left_count, 1u);
  EXPECT_EQ((**drained)->left.at(0).id, x_);
  EXPECT_EQ((**drained)->left.at(0).why.code, ErrorCode::kUnavailable);
  EXPECT_THAT((**drained)->left.at(0).why.message, HasSubstr("no other node"));
}

TEST_F(DrainTest, WhatIsDeletedMeanwhileIsNotLeft) {
  node_.Keep(x_, "bytes", kDrained, store::CopyKind::kPrimary);
  const auto drained = Drain();
  node_.Hear(protocol::Deleted{x_, 60s, Version{{1, 6}}});
  node_.Pass(200ms);
  ASSERT_TRUE(*drained && **drained);
  EXPECT_EQ((**drained)->handed_on + (**drained)->left_count, 0u);
}

TEST_F(DrainTest, NothingNewIsTaken) {
  const ObjectId here = node_.Named("here");
  node_.Keep(here, "bytes", kDrained, store::CopyKind::kRelayed);
  const auto drained = Drain();
  node_.Says();
  const auto got = node_.Ask(node_.calls().Get(x_, node_.NewCall()));
  ASSERT_TRUE(*got && !**got);
  EXPECT_EQ((*got)->error().code, ErrorCode::kUnavailable);
  EXPECT_THAT((*got)->error().message, HasSubstr("it is drained"));
  const auto opened = node_.Ask(node_.calls().Open(x_, node_.NewCall()));
  EXPECT_TRUE(*opened && !**opened);
  const auto put = node_.Ask(node_.calls().Create(x_, 100, "", node_.NewCall()));
  EXPECT_TRUE(*put && !**put);
  const auto sum =
      node_.Ask(node_.calls().Reduce({.sources = {here}, .dtype = DType::kUint8}, node_.NewCall()));
  EXPECT_TRUE(*sum && !**sum);
  node_.Hear(protocol::TakeCopy{x_, kDrained});
  EXPECT_THAT(node_.Says(), IsEmpty());
  const auto still = node_.Ask(node_.calls().Get(here, node_.NewCall()));
  EXPECT_TRUE(*still && **still);
  EXPECT_FALSE(*drained);
  node_.Hear(protocol::EvictAnswer{here, kDrained, true});
}

TEST_F(DrainTest, APutThatGoesOnIsWaitedForAndHandedOn) {
  const auto draft = node_.Ask(node_.calls().Create(x_, 1_MiB, "", node_.NewCall()));
  node_.Hear(protocol::CreateAccepted{x_, kDrained});
  node_.Says();
  const auto late = Drain(node_.now() + 500ms);
  const auto drained = Drain();
  node_.Pass(500ms);
  ASSERT_TRUE(*late && **late);
  ASSERT_EQ((**late)->left_count, 1u);
  EXPECT_THAT((**late)->left.at(0).why.message, HasSubstr("its put has not ended"));
  EXPECT_FALSE(*drained);
  ASSERT_TRUE((**draft)->get()->Advance(1_MiB, {}));
  const auto sealed = node_.Ask((**draft)->get()->Seal(node_.NewCall()));
  node_.Pass(200ms);
  ASSERT_TRUE(*sealed && **sealed);
  EXPECT_FALSE(*drained) << "it is asked about now";
  node_.Hear(protocol::EvictAnswer{x_, kDrained, true});
  node_.Pass(200ms);
  EXPECT_TRUE(*drained && **drained);
}

}  // namespace
}  // namespace hoplite::node
