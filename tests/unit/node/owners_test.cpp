// What the clients of a node own: what the shard hears of it, what they are answered, and what goes
// with them. The rules R50 and those that follow it, as far as they are a node's.
#include "node/owners/owners.h"

#include <memory>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/put/publication.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using protocol::OwnerResult;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

const Version kFirst{{1, 5}};
const Version kMark{{1, 6}};

class OwnersTest : public ::testing::Test {
 protected:
  using Answer = NodeByHand::Answer<Result<void>>;

  Answer Own(const ObjectId& object, const OwnerPtr& client, Time deadline = kNever) {
    return node_.Ask(calls_.Own(object, node_.NewCallOf(client, deadline)));
  }
  void Disown(const ObjectId& object, const OwnerPtr& client) {
    const auto answer = node_.Ask(calls_.Disown(object, node_.NewCallOf(client)));
    EXPECT_TRUE(*answer && **answer);
  }
  void End(const std::shared_ptr<Owner>& client, Operations::ClientEnd how) {
    client->gone = true;
    calls_.OnClientEnd(*client, how);
    node_.Turn();
  }
  // The number of the newest word about who owns.
  std::uint64_t NewestNumber() {
    std::uint64_t newest = 0;
    for (const protocol::NodeEvent& event : node_.directory().said) {
      if (const auto* owner = std::get_if<protocol::Owner>(&event)) newest = owner->number;
      const auto* create = std::get_if<protocol::Create>(&event);
      if (create != nullptr && create->owned) newest = create->number;
    }
    return newest;
  }
  // The shard's answer to the newest word.
  void HearAnswer(const ObjectId& object, OwnerResult result = OwnerResult::kOk) {
    const std::uint64_t number = NewestNumber();
    node_.Says();
    node_.Hear(protocol::OwnerAnswer{object, number, result});
  }
  // This client owns it, and the shard has said so.
  void LetOwn(const ObjectId& object, const OwnerPtr& client) {
    const Answer answer = Own(object, client);
    HearAnswer(object);
    EXPECT_TRUE(*answer && **answer);
  }
  std::shared_ptr<Draft> Put(const OwnerPtr& client, std::uint64_t bytes) {
    const CallPtr call = node_.NewCallOf(client);
    call->owned = true;
    const auto made = node_.Ask(calls_.Create(x_, bytes, "", call));
    return *made && **made ? ***made : nullptr;
  }
  template <typename T>
  static Error ErrorOf(const NodeByHand::Answer<Result<T>>& answer) {
    if (!*answer) return {ErrorCode::kInternal, "it was not answered"};
    if (**answer) return {ErrorCode::kInternal, "there was no error"};
    return (**answer).error();
  }

  NodeByHand node_{4_MiB, 2};  // two ids may be owned
  ClientCalls& calls_ = node_.calls();
  const ObjectId x_ = node_.Named("x");
  const std::shared_ptr<Owner> a_ = node_.NewClient();
  const std::shared_ptr<Owner> b_ = node_.NewClient();
};

TEST_F(OwnersTest, AnOwnIsAnsweredByTheShard) {
  const Answer answer = Own(x_, a_);
  EXPECT_THAT(node_.Inventory(), ElementsAre("owned x +"));
  EXPECT_FALSE(*answer);
  HearAnswer(x_);
  EXPECT_TRUE(*answer && **answer);
  EXPECT_EQ(calls_.owned().count, 1u);
  Disown(x_, a_);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
  EXPECT_EQ(calls_.owned().count, 0u);
}

TEST_F(OwnersTest, ASecondClientIsAnsweredAtOnceWhileTheShardHearsThisNode) {
  LetOwn(x_, a_);
  const Answer second = Own(x_, b_);
  EXPECT_TRUE(*second && **second);
  EXPECT_THAT(node_.Says(), IsEmpty());
  Disown(x_, a_);
  EXPECT_THAT(node_.Says(), IsEmpty()) << "the other owns it";
  Disown(x_, b_);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
}

TEST_F(OwnersTest, ANodeThatWasAwayAsksTheShardAgain) {
  LetOwn(x_, a_);
  node_.directory().vouched_at = node_.now();
  node_.Pass(2s);
  const Answer stood_still = Own(x_, b_);
  EXPECT_THAT(node_.Inventory(), ElementsAre("owned x +"));
  EXPECT_FALSE(*stood_still) << "the shard may have given this node up";
  HearAnswer(x_);
  EXPECT_TRUE(*stood_still && **stood_still);
  node_.directory().vouched_at.reset();

  node_.EndSession();
  node_.OpenSession();
  const Answer after = Own(x_, node_.NewClient());
  EXPECT_FALSE(*after) << "its inventory is not answered yet";
}

TEST_F(OwnersTest, WhatHasNoOwnerAnyMoreIsDeletedForWhoComesLate) {
  const Answer answer = Own(x_, a_);
  HearAnswer(x_, OwnerResult::kDeleted);
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kDeleted);
  EXPECT_THAT(ErrorOf(answer).message, HasSubstr(x_.ToHex()));
  EXPECT_EQ(calls_.owned().count, 0u);

  const Answer waits = Own(x_, b_);
  node_.Hear(protocol::Deleted{x_, 60s, kMark});
  EXPECT_FALSE(*waits) << "it may come after that mark: it has an answer of its own";
  HearAnswer(x_, OwnerResult::kDeleted);
  EXPECT_EQ(ErrorOf(waits).code, ErrorCode::kDeleted);
  EXPECT_EQ(ErrorOf(Own(x_, b_)).code, ErrorCode::kDeleted);
  EXPECT_THAT(node_.Says(), IsEmpty()) << "the node knows the mark";
}

TEST_F(OwnersTest, AnOwnThatIsNotAnsweredInTimeSaysWhyAndOwnsNothing) {
  node_.EndSession();
  const Answer answer = Own(x_, a_, node_.now() + 1s);
  EXPECT_THAT(node_.Inventory(), ElementsAre("owned x +"));
  node_.Pass(1s);
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kTimeout);
  EXPECT_THAT(ErrorOf(answer).message, HasSubstr("shard 0"));
  EXPECT_EQ(calls_.owned().count, 0u);
  EXPECT_THAT(node_.Inventory(), ElementsAre("owned x -")) << "the shard may have heard of it";
  node_.Pass(NodeByHand::kTerms.tombstone);
  EXPECT_THAT(node_.Inventory(), IsEmpty());
}

TEST_F(OwnersTest, AClientThatIsClosedOwnsNothingAtOnceADeadOneForTheGrace) {
  const ObjectId y = node_.Named("y");
  LetOwn(x_, a_);
  LetOwn(y, b_);
  End(a_, Operations::ClientEnd::kClosed);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
  End(b_, Operations::ClientEnd::kDied);
  node_.Pass(NodeByHand::kTerms.orphan_grace - 1s);
  EXPECT_THAT(node_.Says(), IsEmpty());
  node_.Pass(1s);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of y -"));
}

// A session that gives no sign of life for a second is given up by the shard.
TEST(OwnersOfManyIds, EndInStepsSoThatTheNodeGoesOn) {
  constexpr std::size_t kMany = 2500;
  NodeByHand node(4_MiB, kMany);
  const auto client = node.NewClient();
  for (std::size_t i = 0; i < kMany; ++i) {
    const CallPtr call = node.NewCallOf(client);
    call->owned = true;
    const ObjectId object = ObjectId::FromName(std::to_string(i));
    const auto made = node.Ask(node.calls().Create(object, 1, "", call));
    ASSERT_TRUE(*made && **made) << i;
    const std::shared_ptr<Draft> draft = ***made;
    ASSERT_TRUE(draft->Advance(1, {}));
    const auto sealed = node.Ask(draft->Seal(node.NewCall()));
    node.Hear(protocol::CreateAccepted{object, kFirst, true});
  }
  ASSERT_EQ(node.calls().owned().count, kMany);
  client->gone = true;
  node.calls().OnClientEnd(*client, Operations::ClientEnd::kClosed);
  EXPECT_EQ(node.calls().owned().count, kMany - 1000) << "in one step";
  node.Turn();
  EXPECT_EQ(node.calls().owned().count, 0u);
}

TEST_F(OwnersTest, WhoIsClosedMeanwhileIsNotAnsweredThatItOwns) {
  const Answer answer = Own(x_, a_);
  End(a_, Operations::ClientEnd::kClosed);
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kCancelled);
  EXPECT_EQ(ErrorOf(Own(x_, a_)).code, ErrorCode::kCancelled);
  EXPECT_EQ(Put(a_, 5), nullptr);
  EXPECT_EQ(calls_.owned().count, 0u);
}

TEST_F(OwnersTest, SoManyIdsMayBeOwnedAndNoMore) {
  const ObjectId y = node_.Named("y");
  LetOwn(x_, a_);
  LetOwn(y, a_);
  const Error refused = ErrorOf(Own(node_.Named("z"), a_));
  EXPECT_EQ(refused.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(refused.message, HasSubstr("own 2 ids"));
  EXPECT_TRUE(**Own(x_, b_)) << "it is owned already";
  Disown(y, a_);
  node_.Says();
  LetOwn(node_.Named("z"), a_);
}

// --- Puts

TEST_F(OwnersTest, AnOwnedPutOwnsFromItsAnswerOn) {
  const auto draft = Put(a_, 1_MiB);
  const std::uint64_t number = NewestNumber();
  EXPECT_GT(number, 0u);
  EXPECT_EQ(calls_.owned().count, 0u) << "it may be refused";
  EXPECT_THAT(node_.Inventory(), ElementsAre("create x owned"));
  EXPECT_THAT(node_.Says(), ElementsAre("create x owned"));
  node_.Hear(protocol::CreateAccepted{x_, kFirst, true});
  EXPECT_EQ(calls_.owned().count, 1u);
  EXPECT_THAT(node_.Inventory(), ElementsAre("held x producing primary ever owned", "owned x +"));
  End(a_, Operations::ClientEnd::kClosed);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
}

TEST_F(OwnersTest, ARefusedPutOwnsNothing) {
  const auto draft = Put(a_, 1_MiB);
  node_.Says();
  node_.Hear(protocol::CreateRefused{x_, ErrorCode::kAlreadyExists, "somebody has it"});
  EXPECT_EQ(calls_.owned().count, 0u);
  End(a_, Operations::ClientEnd::kClosed);
  EXPECT_THAT(node_.Says(), IsEmpty()) << "the other's object stays";
}

TEST_F(OwnersTest, APutThatIsTakenBackOwnsNothing) {
  auto draft = Put(a_, 1_MiB);
  draft.reset();
  node_.Turn();
  EXPECT_THAT(node_.Says(), ElementsAre("create x owned", "withdraw x"));
  node_.Hear(protocol::CreateAccepted{x_, kFirst, true});
  EXPECT_EQ(calls_.owned().count, 0u) << "the shard takes it back";
  node_.Hear(protocol::CreateRefused{x_, ErrorCode::kCancelled, "taken back"});
  EXPECT_EQ(calls_.owned().count, 0u);
  End(a_, Operations::ClientEnd::kClosed);
  EXPECT_THAT(node_.Says(), IsEmpty());
}

// Or it would be owned for ever: its client has no end any more that anybody could see.
TEST_F(OwnersTest, APutIsDisownedIfItsClientIsGoneWhenItIsAccepted) {
  const auto draft = Put(a_, 1_MiB);
  node_.Says();
  End(a_, Operations::ClientEnd::kClosed);
  node_.Hear(protocol::CreateAccepted{x_, kFirst, true});
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
  EXPECT_EQ(calls_.owned().count, 0u);
}

TEST_F(OwnersTest, APutThatIsAcceptedAfterItsClientDiedIsOwnedForTheGrace) {
  const auto draft = Put(a_, 1_MiB);
  node_.Says();
  End(a_, Operations::ClientEnd::kDied);
  node_.Hear(protocol::CreateAccepted{x_, kFirst, true});
  EXPECT_EQ(calls_.owned().count, 1u);
  node_.Pass(NodeByHand::kTerms.orphan_grace);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
}

TEST_F(OwnersTest, ASmallDraftOfAClosedClientIsNotAnnounced) {
  const auto draft = Put(a_, 5);
  ASSERT_NE(draft, nullptr);
  EXPECT_TRUE(draft->Advance(5, {}));
  End(a_, Operations::ClientEnd::kClosed);
  const auto sealed = node_.Ask(draft->Seal(node_.NewCall()));
  EXPECT_EQ(ErrorOf(sealed).code, ErrorCode::kCancelled);
  EXPECT_THAT(node_.Says(), IsEmpty());
}

TEST_F(OwnersTest, WhetherAnybodyOwnsIsForTheShardToSay) {
  const CallPtr call = node_.NewCallOf(a_);
  call->only_if_owned = true;
  const auto made = node_.Ask(calls_.Create(x_, 1_MiB, "", call));
  EXPECT_THAT(node_.Says(), ElementsAre("create x if owned"));
}

// --- what is kept with copies

TEST_F(OwnersTest, ACopyTellsThatItsObjectWasEverOwned) {
  node_.Keep(x_, "bytes", kFirst, store::CopyKind::kRelayed);
  EXPECT_THAT(node_.Inventory(), ElementsAre("held x complete"));
  node_.Hear(protocol::EverOwned{x_});
  node_.Pass(5s);  // nothing else is to be remembered of it
  EXPECT_THAT(node_.Inventory(), ElementsAre("held x complete ever owned"));
}

TEST_F(OwnersTest, AFetchedCopyIsToldByTheAnswerToItsLocate) {
  const auto get = node_.Ask(calls_.Get(x_, node_.NewCall()));
  node_.Hear(protocol::Located{x_, kFirst, Layout::For(1_MiB), "", true});
  EXPECT_THAT(node_.Inventory(), ElementsAre("held x partial ever owned", "want x"));
}

TEST_F(OwnersTest, TheDeletionOfWhatNobodyOwnsGivesTheMemoryBack) {
  LetOwn(x_, a_);
  node_.Keep(x_, "bytes", kFirst, store::CopyKind::kPrimary);
  Disown(x_, a_);
  const auto get = node_.Ask(calls_.Get(node_.Named("y"), node_.NewCall()));
  node_.Hear(protocol::Deleted{x_, 60s, kMark});
  node_.Hear(protocol::Deleted{node_.Named("y"), 60s, kMark});
  EXPECT_EQ(ErrorOf(get).code, ErrorCode::kDeleted) << "nobody waits for ever";
  EXPECT_EQ(node_.parts().store.usage().used_bytes, 0u);
}

// --- reductions

TEST_F(OwnersTest, AnOwnedReductionSaysSoInItsRequest) {
  const CallPtr call = node_.NewCallOf(a_);
  ReduceOptions options{
      .sources = {node_.Named("source")}, .dtype = DType::kFloat32, .target = x_, .owned = true};
  const auto reduction = node_.Ask(calls_.Reduce(options, call));
  EXPECT_THAT(node_.Says(), ::testing::Contains("reduce into x owned"));
  node_.Hear(protocol::ReduceRefused{x_, 1, ErrorCode::kAlreadyExists, "it exists"});
  EXPECT_EQ(ErrorOf(reduction).code, ErrorCode::kAlreadyExists);
  node_.Says();
  End(a_, Operations::ClientEnd::kClosed);
  EXPECT_THAT(node_.Says(), IsEmpty()) << "the other's object stays";
}

TEST_F(OwnersTest, ACommittedReductionIsOwned) {
  const CallPtr call = node_.NewCallOf(a_);
  const ObjectId source = node_.Named("source");
  ReduceOptions options{.sources = {source}, .dtype = DType::kFloat32, .target = x_, .owned = true};
  const auto reduction = node_.Ask(calls_.Reduce(options, call));
  node_.Hear(protocol::ReduceOpened{x_, 1, {}});
  node_.Hear(protocol::ReduceCommitted{x_, kFirst, 1, {source}});
  EXPECT_TRUE(*reduction && **reduction);
  EXPECT_EQ(calls_.owned().count, 1u);
  node_.Says();
  Disown(x_, a_);
  EXPECT_THAT(node_.Says(), ElementsAre("owner of x -"));
}

// Its commit may be on the way: the shard would take the node for an owner for ever.
TEST_F(OwnersTest, AReductionThatIsGivenUpIsDisowned) {
  const CallPtr call = node_.NewCallOf(a_);
  ReduceOptions options{
      .sources = {node_.Named("source")}, .dtype = DType::kFloat32, .target = x_, .owned = true};
  const auto reduction = node_.Ask(calls_.Reduce(options, call));
  node_.Hear(protocol::ReduceOpened{x_, 1, {}});
  node_.Says();
  call->Cancel();
  node_.Turn();
  EXPECT_EQ(ErrorOf(reduction).code, ErrorCode::kCancelled);
  EXPECT_THAT(node_.Says(), ElementsAre("unsubscribe source", "close x", "owner of x -"));
  EXPECT_EQ(calls_.owned().count, 0u);
}

}  // namespace
}  // namespace hoplite::node
