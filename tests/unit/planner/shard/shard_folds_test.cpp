// Reductions of sources that the shard keeps: it folds them in the step in which it is asked (R82).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hoplite/reduce.h>

#include "planner/shard/directory_state.h"
#include "protocol/elements.h"
#include "protocol/failure.h"

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using Numbers = std::vector<std::uint32_t>;

class ShardFolding : public ::testing::Test {
 protected:
  static constexpr NodeId kPutter{1};
  static constexpr NodeId kCoordinator{2};
  static constexpr NodeId kReader{3};
  static constexpr std::uint64_t kRequest = 7;

  ShardFolding() { Start({.recovery_window = Duration{0}}); }

  void Start(DirectoryOptions options) {
    options.recovery_window = Duration{0};
    state_ = std::make_unique<DirectoryState>(options, now_);
    for (const NodeId node : {kPutter, kCoordinator, kReader}) Join(node);
  }
  void Join(NodeId node) {
    const std::string name = "n" + std::to_string(Raw(node));
    state_->Apply({now_, NodeJoined{{node, name, name + ":1"}, 0}});
    Say(node, InventoryEnd{});
    said_.clear();
  }
  void Tell(NodeId node, NodeEvent event) {
    state_->Apply({now_, NodeSaid{node, std::move(event)}});
  }
  void Say(NodeId node, NodeEvent event) {
    Tell(node, std::move(event));
    Plan();
  }
  void Plan() {
    now_ += std::chrono::milliseconds(1);
    state_->Plan(now_, said_);
    EXPECT_EQ(state_->BrokenInvariant(), "");
  }

  static ObjectId Source(std::size_t i) {
    return ObjectId::FromName("source " + std::to_string(i));
  }
  static InlineBytes BytesOf(const Numbers& numbers) {
    return std::make_shared<const std::string>(reinterpret_cast<const char*>(numbers.data()),
                                               numbers.size() * sizeof(std::uint32_t));
  }
  Create Putting(std::size_t i, const Numbers& numbers, std::string metadata = "") {
    const InlineBytes bytes = BytesOf(numbers);
    return {.object = Source(i),
            .layout = Layout::For(bytes->size()),
            .metadata = std::move(metadata),
            .inline_bytes = bytes,
            .attempt = ++puts_};
  }
  void Put(std::size_t i, const Numbers& numbers, std::string metadata = "") {
    Say(kPutter, Putting(i, numbers, std::move(metadata)));
    said_.clear();
  }

  ReduceOpen Opening(std::size_t sources, std::uint32_t wanted = 0) const {
    ReduceOpen open{.object = target_, .request = kRequest};
    for (std::size_t i = 0; i < sources; ++i) open.shard_fold.sources.push_back(Source(i));
    open.shard_fold.fold = {.op = Op::kSum,
                            .dtype = DType::kUint32,
                            .sources = wanted != 0 ? wanted : static_cast<std::uint32_t>(sources)};
    return open;
  }
  void Open(std::size_t sources, std::uint32_t wanted = 0) {
    Say(kCoordinator, Opening(sources, wanted));
  }

  // What the node was told since this was asked last; null: not that.
  template <typename Word>
  const Word* Told(NodeId node = kCoordinator) {
    for (const Action& action : said_) {
      const auto* word = std::get_if<Word>(&action.body);
      if (action.to == node && word != nullptr) return word;
    }
    return nullptr;
  }
  static Numbers NumbersIn(const InlineBytes& bytes) {
    Numbers numbers(bytes->size() / sizeof(std::uint32_t));
    std::memcpy(numbers.data(), bytes->data(), bytes->size());
    return numbers;
  }
  // Of the commit that the coordinator was told; empty: of none.
  Numbers Sum() {
    const auto* committed = Told<ReduceCommitted>();
    return committed == nullptr ? Numbers() : NumbersIn(committed->bytes);
  }

  const ObjectId target_ = ObjectId::FromName("target");
  std::unique_ptr<DirectoryState> state_;
  std::vector<Action> said_;
  Time now_ = Time(std::chrono::hours(1));
  std::uint64_t puts_ = 0;
};

TEST_F(ShardFolding, WhatIsThereIsFoldedAndCommittedAtOnce) {
  Put(0, {1, 2});
  Put(1, {10, 20});
  Put(2, {100, 200});
  Say(kReader, Locate{.object = target_});
  Open(3);
  EXPECT_THAT(Sum(), ElementsAre(111, 222));
  EXPECT_THAT(Told<ReduceCommitted>()->used, ElementsAre(Source(0), Source(1), Source(2)));
  EXPECT_EQ(Told<ReduceOpened>(), nullptr);
  EXPECT_THAT(NumbersIn(Told<InlineObject>(kReader)->bytes), ElementsAre(111, 222));
  const ObjectView target = *state_->Find(target_);
  ASSERT_EQ(target.holders.size(), 1U);
  EXPECT_EQ(target.holders.front().node, kCoordinator);
}

TEST_F(ShardFolding, NothingIsFoldedThatIsNotAskedFor) {
  Put(0, {1});
  Say(kCoordinator, ReduceOpen{.object = target_, .request = kRequest});
  EXPECT_NE(Told<ReduceOpened>(), nullptr);
  EXPECT_EQ(Told<ReduceCommitted>(), nullptr);
}

TEST_F(ShardFolding, AMissingSourceIsAskedForOnceMore) {
  Put(0, {1});
  Open(2);
  EXPECT_NE(Told<ReduceOpened>(), nullptr);
  EXPECT_THAT(Sum(), IsEmpty());
  Put(1, {2});
  Open(2);
  EXPECT_THAT(Sum(), ElementsAre(3));
}

TEST_F(ShardFolding, WhatIsDeletedOrPutAnewBeforeDoesNotCount) {
  Put(0, {1});
  Put(1, {2});
  Say(kPutter, Delete{Source(1)});
  said_.clear();
  Open(2);
  EXPECT_THAT(Sum(), IsEmpty());
  now_ += std::chrono::minutes(2);  // its mark has ended
  Put(1, {5});
  Open(2);
  EXPECT_THAT(Sum(), ElementsAre(6));
}

TEST_F(ShardFolding, WhatIsDeletedAfterChangesNothing) {
  Put(0, {1});
  Put(1, {2});
  Tell(kCoordinator, Opening(2));
  Plan();
  Say(kPutter, Delete{Source(1)});
  EXPECT_THAT(Sum(), ElementsAre(3));
  said_.clear();
  Say(kReader, Locate{.object = target_});
  EXPECT_THAT(NumbersIn(Told<InlineObject>(kReader)->bytes), ElementsAre(3));
}

TEST_F(ShardFolding, TheFirstThatAreThereCountInTheOrderNamed) {
  Put(3, {1000});
  Put(1, {10});
  Put(2, {100});
  Open(4, 2);
  EXPECT_THAT(Sum(), ElementsAre(110));
  EXPECT_THAT(Told<ReduceCommitted>()->used, ElementsAre(Source(1), Source(2)));
}

TEST_F(ShardFolding, AFailedSourceDoesNotCount) {
  Put(0, {}, protocol::FailureMetadata(Error(ErrorCode::kInternal, "the task failed")));
  Put(1, {2});
  Open(2);
  EXPECT_THAT(Sum(), IsEmpty());
  said_.clear();
  Open(2, 1);
  EXPECT_THAT(Sum(), ElementsAre(2));
}

TEST_F(ShardFolding, SourcesThatDoNotFitGoTheOtherWay) {
  Put(0, {1, 2}, "f4");
  Put(1, {3}, "f4");
  Put(2, {4, 5}, "i8");
  Open(2);
  EXPECT_THAT(Sum(), IsEmpty());  // unequal sizes
  ReduceOpen open = Opening(1);
  open.shard_fold.sources.push_back(Source(2));
  open.shard_fold.fold.sources = 2;
  open.shard_fold.alike = "f";
  Say(kCoordinator, open);
  EXPECT_THAT(Sum(), IsEmpty());  // unlike metadata
  open.shard_fold.alike.reset();
  open.shard_fold.fold.folded_bytes = 12;
  Say(kCoordinator, open);
  EXPECT_THAT(Sum(), IsEmpty());  // more elements than there are
  open.shard_fold.fold.folded_bytes = 0;
  Say(kCoordinator, open);
  EXPECT_THAT(Sum(), ElementsAre(5, 7));
}

TEST_F(ShardFolding, ElementsAreThoseOfTheTypeAndTheRestIsKept) {
  Put(0, {1, 7});
  Put(1, {2, 7});
  ReduceOpen open = Opening(2);
  open.shard_fold.fold.folded_bytes = 4;
  Say(kCoordinator, open);
  EXPECT_THAT(Sum(), ElementsAre(3, 7));
}

TEST_F(ShardFolding, AMeanIsDividedByThoseUsed) {
  const auto number = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  Put(0, {number(1.0F)});
  Put(1, {number(2.0F)});
  ReduceOpen open = Opening(3, 2);
  open.shard_fold.fold.op = Op::kMean;
  open.shard_fold.fold.dtype = DType::kFloat32;
  Say(kCoordinator, open);
  EXPECT_THAT(Sum(), ElementsAre(number(1.5F)));
}

TEST_F(ShardFolding, TheMetadataAreThoseAskedForOrOfTheFirstSource) {
  Put(0, {1}, "f4 first");
  Put(1, {2}, "f4 second");
  Open(2);
  EXPECT_EQ(protocol::UsersPart(Told<ReduceCommitted>()->metadata), "f4 first");
  Say(kCoordinator, Delete{target_});
  now_ += std::chrono::minutes(2);
  said_.clear();
  ReduceOpen open = Opening(2);
  open.request = kRequest + 1;
  open.shard_fold.metadata = "mine";
  Say(kCoordinator, open);
  EXPECT_EQ(protocol::UsersPart(Told<ReduceCommitted>()->metadata), "mine");
}

TEST_F(ShardFolding, WithoutADTypeThatOfTheFirstSourceCountsAndOthersAreNotFolded) {
  const std::string noted = protocol::WithElements(DType::kUint32, "");
  Put(0, {1}, noted);
  Put(1, {2}, noted);
  ReduceOpen open = Opening(2);
  open.shard_fold.fold.dtype = DType{};
  Say(kCoordinator, open);
  EXPECT_THAT(Sum(), ElementsAre(3));
  EXPECT_EQ(Told<ReduceCommitted>()->metadata, noted);
}

TEST_F(ShardFolding, SourcesOfTwoDTypesAreLeftToTheCoordinatorWhichRefusesThem) {
  Put(0, {1}, protocol::WithElements(DType::kUint32, ""));
  Put(1, {2}, protocol::WithElements(DType::kFloat32, ""));
  ReduceOpen open = Opening(2);
  open.shard_fold.fold.dtype = DType{};
  Say(kCoordinator, open);
  EXPECT_EQ(Told<ReduceCommitted>(), nullptr);
}

TEST_F(ShardFolding, AThousandSourcesAreFoldedInOneTurn) {
  for (std::uint32_t i = 0; i < 1000; ++i) Put(i, Numbers(256, i));  // 1,000 KiB
  Open(1000);
  EXPECT_THAT(Sum(), ElementsAreArray(Numbers(256, 999 * 1000 / 2)));
}

TEST_F(ShardFolding, MoreThanAMebibyteIsNot) {
  for (std::uint32_t i = 0; i < 65; ++i) Put(i, Numbers(4096, i));
  Open(65);
  EXPECT_THAT(Sum(), IsEmpty());
  Open(64);
  EXPECT_THAT(Sum(), ElementsAreArray(Numbers(4096, 63 * 64 / 2)));
}

// Others are served between.
TEST_F(ShardFolding, ATurnFoldsAMebibyteNotMore) {
  for (std::uint32_t i = 0; i < 64; ++i) Put(i, Numbers(4096, i));
  for (std::uint64_t request = 1; request <= 3; ++request) {
    ReduceOpen open = Opening(64);
    open.object = ObjectId::FromName("target " + std::to_string(request));
    open.request = request;
    Tell(kCoordinator, open);
  }
  for (std::ptrdiff_t turn = 1; turn <= 3; ++turn) {
    Plan();
    EXPECT_EQ(std::ranges::count_if(said_,
                                    [](const Action& action) {
                                      return std::holds_alternative<ReduceCommitted>(action.body);
                                    }),
              turn);
  }
}

TEST_F(ShardFolding, WithoutRoomForTheTargetItGoesTheOtherWay) {
  Start({.inline_total_bytes = 20});
  Put(0, {1, 2});
  Put(1, {3, 4});
  Open(2);
  EXPECT_THAT(Sum(), IsEmpty());
  EXPECT_NE(Told<ReduceOpened>(), nullptr);
}

TEST_F(ShardFolding, AnIdThatIsTakenIsRefused) {
  Put(0, {1});
  Create taken = Putting(0, {9});
  taken.object = target_;
  Say(kPutter, taken);
  Open(1);
  EXPECT_NE(Told<ReduceRefused>(), nullptr);
  EXPECT_THAT(Sum(), IsEmpty());
}

TEST_F(ShardFolding, TheTargetIsOwnedFromThatStepOn) {
  Put(0, {1});
  ReduceOpen open = Opening(1);
  open.owned = true;
  open.number = 1;
  Say(kCoordinator, open);
  EXPECT_TRUE(state_->Owners(target_).owned);
  EXPECT_NE(Told<EverOwned>(), nullptr);
}

// --- the coordinator

TEST_F(ShardFolding, TheCommitIsRepeatedUntilTheCoordinatorHasHeardIt) {
  Put(0, {1});
  Open(1);
  const Version made = Told<ReduceCommitted>()->version;
  state_->Apply({now_, NodeSuspended{kCoordinator}});
  Plan();
  state_->Apply({now_, NodeJoined{{kCoordinator, "n2", "n2:1"}, 0}});
  said_.clear();
  Tell(kCoordinator, Opening(1));
  Say(kCoordinator, InventoryEnd{});
  EXPECT_THAT(Sum(), ElementsAre(1));
  EXPECT_EQ(Told<ReduceCommitted>()->version, made);
  said_.clear();
  Say(kCoordinator, ReduceClose{target_, kRequest});
  Open(1);
  EXPECT_NE(Told<ReduceRefused>(), nullptr);  // it exists
}

// Else what it keeps of the repeated commit would be left there when the target is deleted.
TEST_F(ShardFolding, TheCoordinatorHasTheTargetAlsoByARepeatedCommit) {
  Put(0, {1});
  Open(1);
  state_->Apply({now_, NodeSuspended{kCoordinator}});
  Plan();
  state_->Apply({now_, NodeJoined{{kCoordinator, "n2", "n2:1"}, 0}});
  Tell(kCoordinator, Opening(1));
  Say(kCoordinator, InventoryEnd{});
  ASSERT_EQ(state_->Find(target_)->holders.size(), 1U);
  EXPECT_TRUE(state_->Find(target_)->holders.front().complete);
  said_.clear();
  Say(kPutter, protocol::Delete{target_});
  EXPECT_NE(Told<Deleted>(), nullptr);
}

TEST_F(ShardFolding, ACoordinatorThatIsLostBeforeLeavesNothing) {
  Put(0, {1});
  Tell(kCoordinator, Opening(1));
  state_->Apply({now_, NodeLost{kCoordinator}});
  Plan();
  EXPECT_FALSE(state_->Find(target_));
}

TEST_F(ShardFolding, ACoordinatorThatIsLostAfterLeavesTheTarget) {
  Put(0, {1});
  Say(kCoordinator, Opening(1));
  state_->Apply({now_, NodeLost{kCoordinator}});
  Plan();
  said_.clear();
  Say(kReader, Locate{.object = target_});
  EXPECT_THAT(NumbersIn(Told<InlineObject>(kReader)->bytes), ElementsAre(1));
}

// --- a sum of some of the sources named: a restarted shard would perhaps fold others

TEST_F(ShardFolding, ASumOfSomeIsGivenToReadersWhenTheCoordinatorHasHeard) {
  for (std::uint32_t i = 0; i < 3; ++i) Put(i, {i});
  Say(kReader, Locate{.object = target_});
  Open(3, 2);
  EXPECT_THAT(Sum(), ElementsAre(1));
  EXPECT_EQ(Told<InlineObject>(kReader), nullptr);
  Say(kCoordinator, ReduceClose{target_, kRequest});
  EXPECT_THAT(NumbersIn(Told<InlineObject>(kReader)->bytes), ElementsAre(1));
}

TEST_F(ShardFolding, ASumOfSomeIsGivenToReadersWhenTheCoordinatorIsLost) {
  for (std::uint32_t i = 0; i < 3; ++i) Put(i, {i});
  Say(kReader, Locate{.object = target_});
  Open(3, 2);
  state_->Apply({now_, NodeLost{kPutter}});
  Plan();
  EXPECT_EQ(Told<InlineObject>(kReader), nullptr);
  state_->Apply({now_, NodeLost{kCoordinator}});
  Plan();
  EXPECT_THAT(NumbersIn(Told<InlineObject>(kReader)->bytes), ElementsAre(1));
}

TEST_F(ShardFolding, ASumOfSomeIsGivenToReadersWhenTheCoordinatorAsksNoMore) {
  for (std::uint32_t i = 0; i < 3; ++i) Put(i, {i});
  Say(kReader, Locate{.object = target_});
  Open(3, 2);
  state_->Apply({now_, NodeSuspended{kCoordinator}});
  state_->Apply({now_, NodeJoined{{kCoordinator, "n2", "n2:1"}, 0}});
  Plan();
  EXPECT_EQ(Told<InlineObject>(kReader), nullptr);
  Say(kCoordinator, InventoryEnd{});
  EXPECT_THAT(NumbersIn(Told<InlineObject>(kReader)->bytes), ElementsAre(1));
}

TEST_F(ShardFolding, ASumOfSomeIsASourceWhenTheCoordinatorHasHeard) {
  for (std::uint32_t i = 0; i < 3; ++i) Put(i, {i});
  Open(3, 2);
  ReduceOpen next = Opening(1);
  next.object = ObjectId::FromName("next target");
  next.shard_fold.sources = {target_};
  Say(kReader, next);
  EXPECT_EQ(Told<ReduceCommitted>(kReader), nullptr);
  Say(kCoordinator, ReduceClose{target_, kRequest});
  Say(kReader, next);
  EXPECT_THAT(NumbersIn(Told<ReduceCommitted>(kReader)->bytes), ElementsAre(1));
}

// The bytes that a restarted shard was not told yet can't be folded.
TEST_F(ShardFolding, SourcesToldWithoutBytesGoTheOtherWay) {
  const Layout layout = Layout::For(4);
  Say(kPutter, Held{.object = Source(0),
                    .version = {{1, 1}},
                    .layout = layout,
                    .marks = layout.full_marks(),
                    .complete = true,
                    .primary = true});
  Open(1);
  EXPECT_THAT(Sum(), IsEmpty());
  Say(kPutter, HeldBytes{Source(0), {{1, 1}}, BytesOf({8})});
  Open(1);
  EXPECT_THAT(Sum(), ElementsAre(8));
}

TEST_F(ShardFolding, ATreeThatIsPlannedIsNotFolded) {
  Put(0, {1});
  Say(kCoordinator, ReduceOpen{.object = target_, .request = kRequest});
  Say(kCoordinator, ReduceShape{target_, kRequest, Layout::For(1 << 20), Fold{}, "", false});
  Open(1);
  EXPECT_THAT(Sum(), IsEmpty());
}

}  // namespace
}  // namespace hoplite::planner
