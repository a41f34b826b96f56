// A reduction whose sources the target's shard folds by itself (R82), as its coordinator's node sees it.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kSumStore = 4_MiB;
const Version kSumVersion{{1, 5}};

class ShardFoldTest : public ::testing::Test {
 protected:
  void Reduce() {
    ReduceOptions options{
        .sources = {Source(1), Source(2)}, .dtype = DType::kFloat32, .target = object_};
    reduction_ = node_.Ask(node_.calls().Reduce(std::move(options), call_));
    EXPECT_EQ(Requests(), 1);
  }
  ObjectId Source(int i) { return node_.Named("source " + std::to_string(i)); }
  // How often the shard was asked to fold since the last look.
  std::ptrdiff_t Requests() {
    return std::ranges::count_if(std::exchange(node_.directory().said, {}),
                                 [](const protocol::NodeEvent& event) {
                                   const auto* open = std::get_if<protocol::ReduceOpen>(&event);
                                   return open != nullptr && !open->shard_fold.sources.empty();
                                 });
  }
  void IsKept(int source) {
    node_.Hear(protocol::Location{.object = Source(source),
                                  .version = {{1, 1}},
                                  .kind = protocol::LocationKind::kInline,
                                  .layout = Layout::For(sum_->size())});
  }
  void Open() { node_.Hear(protocol::ReduceOpened{object_, 1, {}}); }
  void Commit() {
    node_.Hear(protocol::ReduceCommitted{
        object_, kSumVersion, 1, {Source(1), Source(2)}, sum_, "its metadata"});
  }
  bool succeeded() const { return *reduction_ && **reduction_; }
  store::CopyPtr Kept() {
    const store::CopyPtr copy = node_.parts().store.Find(object_);
    return copy && copy->state() == store::CopyState::kFinal ? copy : nullptr;
  }
  // Somebody reads an object that takes all of the store.
  store::CopyPtr FillStore() {
    return node_.Keep(node_.Named("y"), std::string(kSumStore, 'y'), {{1, 2}},
                      store::CopyKind::kRelayed);
  }
  void Empty(store::CopyPtr pin) {
    node_.parts().store.Remove(node_.Named("y"));
    pin.reset();
    node_.parts().memory.OnSpace();
    node_.Turn();
  }

  NodeByHand node_{kSumStore};
  const ObjectId object_ = node_.Named("x");
  const protocol::InlineBytes sum_ = std::make_shared<const std::string>(1000, 's');
  const CallPtr call_ = node_.NewCall();
  NodeByHand::Answer<Result<ReduceOutcome>> reduction_;
};

TEST_F(ShardFoldTest, TheTargetIsHereWhenItIsCommitted) {
  Reduce();
  Commit();
  ASSERT_TRUE(succeeded());
  EXPECT_THAT((**reduction_)->used, ElementsAre(Source(1), Source(2)));
  EXPECT_THAT(node_.Says(), Contains("close x"));
  const auto get = node_.Ask(node_.calls().Get(object_, node_.NewCall()));
  ASSERT_TRUE(*get && **get);
  EXPECT_EQ((***get)->version(), kSumVersion);
  EXPECT_EQ((***get)->metadata(), "its metadata");
  EXPECT_TRUE(std::ranges::equal((***get)->bytes(), std::as_bytes(std::span(*sum_))));
  EXPECT_THAT(node_.Says(), IsEmpty()) << "nobody is asked";
  EXPECT_THAT(node_.Inventory(), ElementsAre("held x complete primary"));
}

TEST_F(ShardFoldTest, AReaderThatWaitsHereGetsIt) {
  Reduce();
  const auto get = node_.Ask(node_.calls().Get(object_, node_.NewCall()));
  EXPECT_FALSE(*get);
  Commit();
  node_.Hear(protocol::InlineObject{object_, kSumVersion, "its metadata", sum_});
  EXPECT_TRUE(*get && **get);
  EXPECT_EQ((**get).value(), Kept());
}

TEST_F(ShardFoldTest, TheShardIsAskedOnceMoreWhenAllSourcesHaveCome) {
  Reduce();
  Open();
  IsKept(1);
  EXPECT_EQ(Requests(), 0);
  IsKept(2);
  EXPECT_EQ(Requests(), 1);
  Commit();
  EXPECT_TRUE(succeeded());
}

TEST_F(ShardFoldTest, WhatTheShardDoesNotFoldIsFetched) {
  Reduce();
  Open();
  IsKept(1);
  IsKept(2);
  Open();  // it can't
  EXPECT_THAT(node_.Says(), Contains("locate source 1"));
  for (const int source : {1, 2}) {
    node_.Hear(protocol::InlineObject{Source(source), {{1, 1}}, "", sum_});
  }
  EXPECT_THAT(node_.Says(), Contains("create x with bytes"));
  EXPECT_THAT(node_.Inventory(), Contains("reduce into x"));
  node_.directory().said.clear();
  node_.Hear(protocol::CreateAccepted{object_, kSumVersion});
  EXPECT_TRUE(succeeded());
}

// --- without memory for a copy

TEST_F(ShardFoldTest, ACopyIsMadeWhenThereIsMemory) {
  store::CopyPtr pin = FillStore();
  Reduce();
  Commit();
  EXPECT_THAT(node_.Says(), Contains("gone x"));
  EXPECT_FALSE(*reduction_);
  Empty(std::move(pin));
  EXPECT_TRUE(succeeded());
  EXPECT_TRUE(Kept());
  EXPECT_THAT(node_.Says(), Contains("held x complete primary"));
}

TEST_F(ShardFoldTest, TheTargetIsThereWithoutACopyHere) {
  const store::CopyPtr pin = FillStore();
  Reduce();
  Commit();
  node_.Pass(seconds(6));
  EXPECT_TRUE(succeeded());
  EXPECT_FALSE(Kept());
  EXPECT_THAT(node_.Says(), Not(Contains("held x complete primary")));
}

TEST_F(ShardFoldTest, WhatIsDeletedMeanwhileIsNotKept) {
  store::CopyPtr pin = FillStore();
  Reduce();
  Commit();
  node_.Hear(protocol::Deleted{object_, seconds(60), {{1, 6}}});
  Empty(std::move(pin));
  EXPECT_TRUE(succeeded());
  EXPECT_FALSE(Kept());
}

TEST_F(ShardFoldTest, WhatIsPutAnewMeanwhileIsNotKept) {
  store::CopyPtr pin = FillStore();
  Reduce();
  Commit();
  node_.Hear(protocol::Location{.object = object_,
                                .version = {{1, 7}},
                                .kind = protocol::LocationKind::kInline,
                                .layout = Layout::For(5)});
  Empty(std::move(pin));
  EXPECT_TRUE(succeeded());
  EXPECT_FALSE(Kept());
}

// What is committed is told, however late.
TEST_F(ShardFoldTest, ACancelledCallThatWaitsForMemoryHasSucceeded) {
  const store::CopyPtr pin = FillStore();
  Reduce();
  Commit();
  call_->Cancel();
  node_.Turn();
  EXPECT_TRUE(succeeded());
}

}  // namespace
}  // namespace hoplite::node
