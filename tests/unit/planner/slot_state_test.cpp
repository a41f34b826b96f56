// What a node that executes a slot of a reduction does, and when: told in the order in which it
// happens, answered in words.
#include "planner/slot_state.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kSlot = 5;
constexpr std::uint32_t kParent = 6;
const Version kVersion{{1, 50}};
// The layout has two stripes.
constexpr StripeMask kFirst = 1;
constexpr StripeMask kSecond = 2;
constexpr StripeMask kBoth = 3;

SlotAssigned OrderOf(std::uint32_t sources, std::uint32_t children, std::uint32_t parent) {
  SlotAssigned order{.object = ObjectId::FromName("target"),
                     .version = kVersion,
                     .layout = Layout::For(1 << 20, 2)};
  const std::vector<std::uint32_t> parents(parent == 0 ? 0 : 1, parent);
  order.order = {.slot = kSlot,
                 .parents = parents,
                 .stripes = order.layout.all_stripes(),
                 .children = children,
                 .node = NodeId{1}};
  for (std::uint32_t i = 0; i < sources; ++i) {
    order.order.inputs.push_back({ObjectId::FromName("source " + std::to_string(i)), {{1, i + 1}}});
  }
  return order;
}

std::string WordFor(const NodeEvent& event) {
  if (const auto* failed = std::get_if<SlotFailed>(&event)) {
    if (failed->input != 0) return "lost " + std::to_string(failed->input);
    return "failed: " + failed->message;
  }
  if (const auto* drained = std::get_if<SlotDrained>(&event)) {
    return "drained " + std::to_string(drained->input);
  }
  if (std::holds_alternative<ReduceCommit>(event)) return "commit?";
  if (std::holds_alternative<SlotProgress>(event)) return "report";
  return "something else";
}

// One slot. Whatever is told it at a moment, it answers when it is asked at the end.
class Execution {
 public:
  static Execution Leaf(std::uint32_t sources) { return Execution(OrderOf(sources, 0, kParent)); }
  static Execution Inner(std::uint32_t sources, std::uint32_t children) {
    return Execution(OrderOf(sources, children, kParent));
  }
  static Execution Root(std::uint32_t sources, std::uint32_t children) {
    return Execution(OrderOf(sources, children, 0));
  }
  // Of an order that makes these stripes only: a root, or one that these parents fold.
  static Execution Part(StripeMask stripes, std::uint32_t children,
                        std::vector<std::uint32_t> parents = {}) {
    SlotAssigned order = OrderOf(1, children, 0);
    order.order.stripes = stripes;
    order.order.parents = std::move(parents);
    return Execution(std::move(order));
  }

  Execution& After(Duration time) {
    now_ += time;
    return *this;
  }
  Execution& Source(std::size_t i, OwnSource source) {
    sources_[i] = source;
    state_.OnSource(i, source, now_, effects_);
    return *this;
  }
  Execution& Memory() {
    EXPECT_TRUE(state_.WantsOutput(now_));
    state_.OnOutput(now_);
    for (const auto& [i, source] : sources_) state_.OnSource(i, source, now_, effects_);
    return *this;
  }
  Execution& NoMemory(bool ever = true) {
    state_.OnNoMemory(ever, now_, effects_);
    return *this;
  }
  Execution& Feed(std::uint32_t child, StripeMask stripes = kBoth) {
    SlotFeed feed{.object = state_.order().object, .slot = kSlot, .version = kVersion};
    feed.input = child;
    feed.input_version = Version{{1, 100 + child}};
    feed.stripes = stripes;
    state_.OnFeed(feed);
    return *this;
  }
  // The streams of this child end, `folded` blocks of its first stripe are folded.
  Execution& Breaks(std::uint32_t child, Failure why, std::uint32_t folded = 0) {
    state_.OnStreamsEnded(child, {why, "why"}, {folded, 0}, now_, effects_);
    return *this;
  }
  Execution& Ends(std::uint32_t child) {
    state_.OnStripesEnded(child, state_.order().layout.all_stripes());
    state_.OnStreamsEnded(child, {}, state_.order().layout.full_marks(), now_, effects_);
    return *this;
  }
  Execution& Folded(FoldProgress folded) {
    folded_ = folded;
    return *this;
  }
  Execution& FoldedAll() { return Made(kBoth); }
  // Every block of these stripes.
  Execution& Made(StripeMask stripes) {
    return Folded({.any = true, .made = stripes, .of_each_child = true});
  }
  Execution& Committed() {
    state_.OnCommitted(effects_);
    return *this;
  }
  // Its memory goes to somebody else.
  Execution& LetGo() {
    state_.GiveBack();
    state_.LetGo(now_);
    folded_ = {};
    return *this;
  }
  // Its parents.
  Execution& Asked(StripeMask stripes = kBoth) {
    state_.OnAsked(stripes);
    return *this;
  }
  Execution& Drained(StripeMask stripes = kBoth) {
    state_.OnDrained(stripes);
    return *this;
  }
  Execution& Drop() {
    state_.Drop();
    return *this;
  }

  // Since the last time.
  std::vector<std::string> Answers() {
    next_ = state_.Plan(now_, folded_, effects_);
    std::vector<std::string> words;
    for (const NodeEvent& event : effects_.say) words.push_back(WordFor(event));
    for (const auto& pull : effects_.pull) {
      const bool all = pull.stripes == state_.order().layout.all_stripes();
      const std::string from = pull.from[0] == 0 ? "" : " from " + std::to_string(pull.from[0]);
      words.push_back("pull " + std::to_string(pull.input) + from + (all ? "" : " in part"));
    }
    if (effects_.seal == kBoth) {
      words.emplace_back("seal");
    } else if (effects_.seal != 0) {
      words.push_back("seal stripes " + std::to_string(effects_.seal));
    }
    effects_ = {};
    return words;
  }
  std::vector<std::string> Repeats() const {
    std::vector<std::string> words;
    for (const NodeEvent& event : state_.Inventory()) words.push_back(WordFor(event));
    return words;
  }
  bool Spares(bool same_operation) const {
    const auto operation =
        same_operation ? std::optional(state_.order().object) : std::optional<ObjectId>();
    return state_.Spares(operation, folded_, now_);
  }
  bool wants_memory() const { return state_.WantsOutput(now_) && !state_.serves_source(); }
  Duration waits() const { return next_ - now_; }
  SlotState& state() { return state_; }

 private:
  explicit Execution(SlotAssigned order) : state_(std::move(order), "n1", now_) {}

  Time now_ = Time(std::chrono::hours(1));
  SlotState state_;
  std::map<std::size_t, OwnSource> sources_;  // as they are now
  FoldProgress folded_;
  SlotState::Effects effects_;
  Time next_{};
};

// An inner slot with a source of its own and two children, which pulls both.
Execution Pulling() {
  Execution slot = Execution::Inner(1, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1).Feed(2);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1", "pull 2"));
  return slot;
}

// --- its own sources

TEST(SlotState, AnOrderMayComeBeforeItsSources) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kGrowing).Source(1, OwnSource::kMissing);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_FALSE(slot.wants_memory());
  EXPECT_EQ(slot.waits(), milliseconds(5));  // nobody tells it
  slot.After(milliseconds(5)).Source(1, OwnSource::kGrowing);
  EXPECT_TRUE(slot.wants_memory());
}

TEST(SlotState, ASourceThatDoesNotComeIsALossAfterAWhile) {
  Execution slot = Execution::Leaf(1);
  slot.After(milliseconds(999)).Source(0, OwnSource::kMissing);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_EQ(slot.waits(), milliseconds(1));
  slot.After(milliseconds(1)).Source(0, OwnSource::kMissing);
  const std::string name = slot.state().order().order.inputs[0].object.ToHex();
  EXPECT_THAT(slot.Answers(), ElementsAre("failed: source " + name + " is not at n1"));
  EXPECT_EQ(slot.waits(), kNever - (Time(std::chrono::hours(1)) + seconds(1)));  // to be dropped
  slot.Source(0, OwnSource::kFinal);
  EXPECT_FALSE(slot.wants_memory());
}

TEST(SlotState, ASourceOfAnotherLayoutIsNotFolded) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kOtherLayout);
  EXPECT_EQ(slot.Answers().size(), 1U);
  EXPECT_TRUE(slot.state().failed());
}

TEST(SlotState, ASourceMayGoOnceItWasFinalButNotBefore) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kGrowing).Memory().Answers();
  slot.Source(0, OwnSource::kDeleted);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  slot.Source(1, OwnSource::kDeleted);
  EXPECT_TRUE(slot.state().failed());
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", testing::EndsWith("was deleted")));
}

TEST(SlotState, WhatIsServedAsItIsMustStay) {
  Execution slot = Execution::Leaf(1);
  slot.Source(0, OwnSource::kFinal).Memory().FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("report"));  // final, and sealed by who made it
  slot.Source(0, OwnSource::kVoid);
  EXPECT_THAT(slot.Answers(), ElementsAre(testing::EndsWith("was replaced or given up")));
}

// --- memory

TEST(SlotState, OneSourceIsServedAsItIsWithoutMemory) {
  const auto serves = [](Execution slot) { return slot.state().serves_source(); };
  EXPECT_TRUE(serves(Execution::Leaf(1)));
  EXPECT_FALSE(serves(Execution::Leaf(2)));
  EXPECT_FALSE(serves(Execution::Inner(1, 1)));
  EXPECT_FALSE(serves(Execution::Root(1, 0)));  // the target is an object of its own
}

TEST(SlotState, WhoGetsNoMemoryLeavesTheFoldToOthers) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kFinal).NoMemory();
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_EQ(slot.waits(), milliseconds(100));
  slot.After(seconds(2)).NoMemory();
  EXPECT_THAT(slot.Answers(), ElementsAre(testing::HasSubstr("n1 has no memory")));
  slot.After(seconds(1)).NoMemory();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // once
  // What the coordinator orders then: each source in a slot of its own, served as it is.
  Execution alone = Execution::Leaf(1);
  alone.Source(0, OwnSource::kFinal).Memory().FoldedAll();
  EXPECT_THAT(alone.Answers(), ElementsAre("report"));
}

TEST(SlotState, WhatNeverFitsIsNotWaitedFor) {
  Execution slot = Execution::Inner(0, 2);
  slot.NoMemory(false);
  EXPECT_THAT(slot.Answers(), ElementsAre(testing::HasSubstr("n1 has no memory")));
}

TEST(SlotState, MemoryThatCannotBeUsedYetGoesToTheSameOperation) {
  Execution slot = Execution::Inner(1, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1).Answers();
  EXPECT_FALSE(slot.Spares(true));  // it has just got it
  slot.After(milliseconds(100));
  EXPECT_TRUE(slot.Spares(true));
  EXPECT_FALSE(slot.Spares(false));
  slot.Folded({.any = false, .made = 0, .of_each_child = true});
  EXPECT_FALSE(slot.Spares(true));  // it has all its inputs
}

TEST(SlotState, WhoLetGoComesBackAfterAWhileAndFoldsEverythingOnceMore) {
  Execution slot = Pulling();
  slot.Ends(1).Answers();
  slot.After(milliseconds(100)).LetGo();
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_FALSE(slot.wants_memory());
  EXPECT_EQ(slot.waits(), milliseconds(100));
  slot.After(milliseconds(100));
  EXPECT_TRUE(slot.wants_memory());
  slot.Memory();
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "pull 1", "pull 2"));
}

TEST(SlotState, WhatTheParentHasIsGivenBackAndMadeAgainOnlyIfItAsks) {
  Execution slot = Execution::Leaf(2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kFinal).Memory();
  slot.Asked().Drained();
  EXPECT_FALSE(slot.Spares(false));  // not final: those were stripes of before
  slot.FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "seal"));
  EXPECT_FALSE(slot.Spares(false));
  slot.Drained();
  EXPECT_TRUE(slot.Spares(false));
  slot.LetGo().After(std::chrono::hours(1));
  EXPECT_FALSE(slot.wants_memory());
  slot.Asked();
  EXPECT_TRUE(slot.wants_memory());
  slot.Memory().FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "report", "seal"));
}

// --- children

TEST(SlotState, AChildThatIsToldLateJoins) {
  Execution slot = Execution::Inner(1, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1"));
  slot.Ends(1).FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));  // not final: one is missing
  slot.After(seconds(60)).Feed(2);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "pull 2"));
}

TEST(SlotState, AFeedThatIsRepeatedOrTooMuchChangesNothing) {
  Execution slot = Pulling();
  slot.Feed(1).Feed(3);
  EXPECT_THAT(slot.Answers(), IsEmpty());
}

TEST(SlotState, AChildIsPulledOnlyOnceThereIsMemory) {
  Execution slot = Execution::Inner(0, 1);
  slot.Feed(1).NoMemory();
  EXPECT_THAT(slot.Answers(), IsEmpty());
  slot.Memory();
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1"));
}

TEST(SlotState, WhereAStreamBrokeTheChildIsAskedOnceMore) {
  Execution slot = Pulling();
  slot.Breaks(1, Failure::kBroken);
  EXPECT_THAT(slot.Answers(), IsEmpty());
  EXPECT_EQ(slot.waits(), milliseconds(5));
  slot.After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1"));
  slot.Breaks(1, Failure::kBroken);
  EXPECT_THAT(slot.Answers(), ElementsAre("lost 1"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "lost 1"));
}

TEST(SlotState, BlocksThatWereFoldedMeanwhileAllowAnotherTry) {
  Execution slot = Pulling();
  for (std::uint32_t folded = 1; folded < 5; ++folded) {
    slot.Breaks(1, Failure::kCorrupt, folded).After(milliseconds(5));
    EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 from " + std::to_string(folded)));
  }
  slot.Breaks(1, Failure::kCorrupt, 4);
  EXPECT_THAT(slot.Answers(), ElementsAre("lost 1"));
}

TEST(SlotState, AsDoThoseBeforeTheChildGaveItsMemoryBack) {
  Execution slot = Pulling();
  slot.Breaks(1, Failure::kUnknown).After(milliseconds(5)).Answers();
  slot.Breaks(1, Failure::kNotAhead, 4).After(milliseconds(50)).Answers();
  slot.Breaks(1, Failure::kBroken, 4).After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 from 4"));
}

TEST(SlotState, AChildThatCannotBeReachedIsLostAtOnce) {
  Execution slot = Pulling();
  slot.Breaks(2, Failure::kUnreachable);
  EXPECT_THAT(slot.Answers(), ElementsAre("lost 2"));
}

TEST(SlotState, AChildThatDoesNotKnowItsSlotIsAskedForAWhile) {
  Execution slot = Pulling();
  for (int tries = 0; tries < 400; ++tries) {
    slot.Breaks(1, Failure::kUnknown).After(milliseconds(5));
    const std::vector<std::string> answers = slot.Answers();
    EXPECT_THAT(answers, testing::Contains("pull 1")) << tries;
  }
  slot.Breaks(1, Failure::kUnknown);
  EXPECT_THAT(slot.Answers(), testing::Contains("lost 1"));
}

TEST(SlotState, AChildWithoutMemoryIsWaitedForAsLongAsItTakes) {
  Execution slot = Pulling();
  for (int tries = 0; tries < 1000; ++tries) {
    slot.Breaks(1, Failure::kNotAhead).After(milliseconds(50));
    const std::vector<std::string> answers = slot.Answers();
    EXPECT_THAT(answers, testing::Contains("pull 1")) << tries;
  }
}

TEST(SlotState, StripesWhoseEndCameAreNotPulledAgain) {
  Execution slot = Pulling();
  slot.state().OnStripesEnded(1, 1);
  slot.Breaks(1, Failure::kBroken, 8).After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 from 8 in part"));
}

TEST(SlotState, ALostChildIsReplacedInANewVersion) {
  Execution slot = Pulling();
  slot.Breaks(1, Failure::kUnreachable).Answers();
  slot.Drop();  // the shard has reset it, with all above it
  slot.Ends(2).FoldedAll().After(seconds(10));
  EXPECT_THAT(slot.Answers(), IsEmpty());
  Execution again = Pulling();  // nothing of before is in it
  EXPECT_THAT(again.Repeats(), ElementsAre("report"));
}

// --- the end

TEST(SlotState, FinalOnlyAfterEveryEndAndTheLastBlock) {
  Execution slot = Execution::Inner(2, 2);
  slot.Source(0, OwnSource::kFinal).Source(1, OwnSource::kGrowing).Memory().Feed(1).Feed(2);
  slot.Answers();
  slot.Ends(1).FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));
  slot.Ends(2).Made(0);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 2"));
  slot.FoldedAll();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // a source of its own is not final
  slot.Source(1, OwnSource::kFinal);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "seal"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "drained 1", "drained 2"));
}

TEST(SlotState, ARootIsSealedByTheCommitAlone) {
  Execution slot = Execution::Root(1, 1);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1).Answers();
  slot.Committed();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // it did not ask for it
  slot.Ends(1).FoldedAll();
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1", "report", "commit?"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "drained 1", "commit?"));
  EXPECT_FALSE(slot.state().over());
  slot.Committed();
  EXPECT_THAT(slot.Answers(), ElementsAre("seal"));
  EXPECT_TRUE(slot.state().over());
}

// --- stripes (R64)

TEST(SlotState, AChildIsPulledInTheStripesThatItFeeds) {
  Execution slot = Execution::Part(kBoth, 1, {kParent});
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kSecond);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));
  slot.Breaks(1, Failure::kBroken).After(milliseconds(5));
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));
  slot.state().OnStripesEnded(1, kSecond);
  slot.Breaks(1, Failure::kNone);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));
}

// Else those of a ring wait for each other in a circle.
TEST(SlotState, AStripeIsSealedWhateverTheOthersWaitFor) {
  Execution slot = Execution::Part(kBoth, 1, {kParent});
  slot.Source(0, OwnSource::kFinal).Memory().Made(kFirst);
  EXPECT_THAT(slot.Answers(), IsEmpty());  // the child that is not known yet may feed it
  slot.Feed(1, kSecond);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part", "seal stripes 1"));
  slot.Made(kBoth);
  EXPECT_THAT(slot.Answers(), IsEmpty());  // its bytes are there, their END is not
  slot.state().OnStripesEnded(1, kSecond);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "seal stripes 2"));
  EXPECT_TRUE(slot.state().final());
}

TEST(SlotState, NoStripeIsSealedBeforeItsOwnSourcesAreFinal) {
  Execution slot = Execution::Part(kBoth, 1, {kParent});
  slot.Source(0, OwnSource::kGrowing).Memory().Feed(1, kSecond).Made(kFirst);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));
  slot.Source(0, OwnSource::kFinal);
  EXPECT_THAT(slot.Answers(), ElementsAre("seal stripes 1"));
}

TEST(SlotState, ARootOfAPartAsksWhenThatPartIsFoldedAndSealsNothing) {
  Execution slot = Execution::Part(kSecond, 1);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kBoth);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 1 in part"));  // it makes no other stripe
  slot.Made(kFirst);
  slot.state().OnStripesEnded(1, kSecond);
  EXPECT_THAT(slot.Answers(), IsEmpty());  // what others of its node brought is no matter
  slot.Made(kBoth);
  EXPECT_THAT(slot.Answers(), ElementsAre("report", "commit?"));
  EXPECT_THAT(slot.Repeats(), ElementsAre("report", "drained 1", "commit?"));
  slot.Committed();
  EXPECT_THAT(slot.Answers(), IsEmpty());  // the rest of the target may be missing
  EXPECT_TRUE(slot.state().over());
}

TEST(SlotState, WithAVacantLeafNoStripeOfTheTargetIsFinal) {
  Execution slot = Execution::Part(kSecond, 2);
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kSecond).Made(kSecond).Answers();
  slot.Ends(1);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 1"));
  slot.Feed(2, kSecond);
  EXPECT_THAT(slot.Answers(), ElementsAre("pull 2 in part"));
  slot.Ends(2);
  EXPECT_THAT(slot.Answers(), ElementsAre("drained 2", "report", "commit?"));
}

TEST(SlotState, SeveralParentsDrainItTogether) {
  Execution slot = Execution::Part(kBoth, 1, {kParent, kParent + 1});
  slot.Source(0, OwnSource::kFinal).Memory().Feed(1, kSecond).Made(kFirst).Answers();
  slot.Asked(kFirst).Asked(kSecond).Drained(kFirst);
  EXPECT_FALSE(slot.Spares(false));
  slot.Made(kBoth).Ends(1).Answers();
  slot.Drained(kSecond);
  EXPECT_TRUE(slot.Spares(false));
  slot.LetGo().After(std::chrono::hours(1));
  EXPECT_FALSE(slot.wants_memory());
  slot.Asked(kSecond);  // one of them begins anew
  EXPECT_TRUE(slot.wants_memory());
}

TEST(SlotState, ReportsWhileItMovesAndThatItLives) {
  Execution slot = Pulling();
  slot.After(milliseconds(100));
  EXPECT_THAT(slot.Answers(), ElementsAre("report"));
  EXPECT_EQ(slot.waits(), milliseconds(100));
  slot.Ends(1).Ends(2).Answers();
  EXPECT_EQ(slot.waits(), seconds(1));
}

TEST(SlotState, EqualStatesHaveEqualFingerprints) {
  const auto fingerprint = [](Execution slot) {
    Digest digest;
    slot.state().AddTo(digest);
    return digest.value();
  };
  Execution one = Pulling();
  Execution other = Pulling();
  EXPECT_EQ(fingerprint(one), fingerprint(other));
  other.Ends(1);
  EXPECT_NE(fingerprint(one), fingerprint(other));
}

}  // namespace
}  // namespace hoplite::planner
