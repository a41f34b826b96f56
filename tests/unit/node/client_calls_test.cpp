// What clients are answered, and what their calls set going.
#include "node/clients/client_calls.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "protocol/failure.h"
#include "testing/node_by_hand.h"

namespace hoplite::node {
namespace {

using hoplite::testing::NodeByHand;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const Version kFirstVersion{{1, 5}};
const Version kSecondVersion{{1, 6}};
constexpr std::uint64_t kStoreBytes = 4_MiB;

class ClientCallsTest : public hoplite::testing::NodeByHandTest {
 protected:
  auto Get(const CallPtr& call) { return node_.Ask(calls_.Get(x_, call)); }
  auto Create(const ObjectId& object, std::uint64_t bytes, const CallPtr& call) {
    return node_.Ask(calls_.Create(object, bytes, "", call));
  }
  protocol::InlineObject InDirectory(const std::string& bytes) const {
    return {x_, kFirstVersion, "", std::make_shared<const std::string>(bytes)};
  }
  // What it says, if the shard has answered, or is silent.
  std::string Why() {
    const auto said = node_.Ask(calls_.Why(x_, node_.NewCall(node_.now() + 1s)));
    if (!*said) node_.Pass(1s);
    return *said ? (**said).text : "it was not answered";
  }
  static std::string BytesOf(const store::CopyPtr& copy) {
    return {reinterpret_cast<const char*>(copy->bytes().data()), copy->bytes().size()};
  }
  template <typename T>
  static Error ErrorOf(const NodeByHand::Answer<Result<T>>& answer) {
    if (!*answer) return {ErrorCode::kInternal, "it was not answered"};
    if (**answer) return {ErrorCode::kInternal, "there was no error"};
    return (**answer).error();
  }

  ClientCalls& calls_ = node_.calls();
};

// --- Get

// R69: the answer to an earlier question may come late.
TEST_F(ClientCallsTest, AFailureEndsTheGetWhoseQuestionItAnswers) {
  const protocol::TargetAborted aborted{x_, {}, ErrorCode::kCancelled, "it gave up", 1};
  const auto first = Get(node_.NewCall());
  node_.Hear(aborted);
  EXPECT_EQ(ErrorOf(first).message, "it gave up");
  const auto second = Get(node_.NewCall());
  node_.Hear(aborted);
  EXPECT_FALSE(*second) << "it asked later";
  node_.Hear(InDirectory("small"));
  ASSERT_TRUE(*second && **second);
}

TEST_F(ClientCallsTest, AGetThatComesWhileAFailedOneEndsAsksAnew) {
  const auto first = Get(node_.NewCall());
  EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  node_.directory().hooks.on_action(
      protocol::TargetAborted{x_, {}, ErrorCode::kCancelled, "it gave up", 1});
  const auto second = Get(node_.NewCall());
  EXPECT_EQ(ErrorOf(first).message, "it gave up");
  EXPECT_FALSE(*second);
  EXPECT_THAT(node_.Says(), ElementsAre("cancel locate x", "locate x"));
}

TEST_F(ClientCallsTest, WhatIsHereIsNotAskedFor) {
  const auto copy = node_.Keep(x_, "bytes", kFirstVersion, store::CopyKind::kRelayed);
  const auto answer = Get(node_.NewCall());
  ASSERT_TRUE(*answer && **answer);
  EXPECT_EQ(***answer, copy);
  EXPECT_THAT(node_.Says(), IsEmpty());
}

TEST_F(ClientCallsTest, HoweverManyWaitTheObjectIsAskedForOnce) {
  const auto first = Get(node_.NewCall());
  const CallPtr second_call = node_.NewCall();
  const auto second = Get(second_call);
  EXPECT_THAT(node_.Says(), ElementsAre("locate x"));
  second_call->Cancel();
  node_.Turn();
  EXPECT_EQ(ErrorOf(second).code, ErrorCode::kCancelled);
  EXPECT_THAT(node_.Says(), IsEmpty()) << "the other waits";
  node_.Hear(InDirectory("small"));
  ASSERT_TRUE(*first && **first);
  EXPECT_EQ(BytesOf(***first), "small");
}

TEST_F(ClientCallsTest, BytesOfTheDirectoryAreSharedByThoseWhoPinTheSameVersion) {
  const auto first = Get(node_.NewCall());
  node_.Hear(InDirectory("small"));
  const auto second = Get(node_.NewCall());
  EXPECT_THAT(node_.Says(), ElementsAre("locate x", "locate x")) << "each Get asks";
  node_.Hear(InDirectory("small"));
  ASSERT_TRUE(*first && **first && *second && **second);
  EXPECT_EQ(***first, ***second);
  EXPECT_THAT(node_.Inventory(), IsEmpty()) << "it is no holder of them";
}

TEST_F(ClientCallsTest, ADeadlineSaysWhatWasMissing) {
  const auto waits = [&] { return Get(node_.NewCall(node_.now() + 1s)); };
  auto answer = waits();
  node_.Pass(1s);
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kTimeout);
  EXPECT_THAT(ErrorOf(answer).message,
              HasSubstr(x_.ToHex() + " is not complete at the deadline: it does not exist"));

  answer = waits();
  node_.Hear(protocol::HolderLost{x_, {"n7"}});
  node_.directory().open = false;
  node_.Pass(1s);
  EXPECT_THAT(ErrorOf(answer).message,
              HasSubstr("it is not at this node; directory shard 0 is away"));
  EXPECT_THAT(ErrorOf(answer).message, HasSubstr("its last copy, on n7, was lost"));
}

TEST_F(ClientCallsTest, ADeadlineSaysWhatTheShardKnowsOfTheWait) {
  const protocol::WaiterView own{node_.parts().settings.self, "n1", "n7, which has it, is away"};
  node_.directory().view = protocol::ObjectView{.waiters = {own}};
  const auto answer = Get(node_.NewCall(node_.now() + 1s));
  node_.Pass(1s);
  EXPECT_THAT(ErrorOf(answer).message, EndsWith("at the deadline: n7, which has it, is away"));
  EXPECT_THAT(calls_.WhyUnfinished(x_), HasSubstr("it is not at this node"))
      << "nothing fetches it any more";
}

// --- Why

TEST_F(ClientCallsTest, WhySaysWhereItIsThatNobodyWaitsForHere) {
  node_.directory().view =
      protocol::ObjectView{.size_bytes = 100,
                           .holders = {{.node_name = "n7", .complete = true, .valid_bytes = 100},
                                       {.node_name = "n8", .valid_bytes = 30}},
                           .waiters = {{NodeId{9}, "n9", "every holder is busy"}}};
  EXPECT_EQ(Why(),
            "object " + x_.ToHex() +
                " is not complete at n1: nobody at this node waits for it; n7 has it, n8 has "
                "30 of 100 bytes\nn9 waits for it: every holder is busy");
  node_.Keep(x_, "bytes", kFirstVersion, store::CopyKind::kRelayed);
  EXPECT_EQ(Why(),
            "object " + x_.ToHex() + " is complete at n1\nn9 waits for it: every holder is busy");
  for (std::uint64_t i = 10; i < 40; ++i) {
    (*node_.directory().view)->waiters.push_back({NodeId{i}, "n" + std::to_string(i), "busy"});
  }
  EXPECT_THAT(Why(), EndsWith("\nn28 waits for it: busy\n11 more nodes wait for it"));
}

TEST_F(ClientCallsTest, WhatHasWaitedForASecondIsToldUntilItWaitsNoLonger) {
  const auto told = [this] {
    std::vector<std::vector<protocol::Wait>> all;
    for (const protocol::NodeEvent& event : std::exchange(node_.directory().said, {})) {
      if (const auto* waits = std::get_if<protocol::ToldWaits>(&event)) all.push_back(waits->waits);
    }
    return all;
  };
  node_.Keep(node_.Named("own"), std::string(3_MiB, 'p'), kFirstVersion, store::CopyKind::kPrimary);
  const auto waits = Create(x_, 2_MiB, node_.NewCall());
  node_.Pass(900ms);
  EXPECT_THAT(told(), IsEmpty());
  node_.Pass(1200ms);
  const auto one = told();
  ASSERT_THAT(one, SizeIs(1));
  ASSERT_THAT(one[0], SizeIs(1));
  EXPECT_EQ(one[0][0].object, x_);
  EXPECT_THAT(one[0][0].why, HasSubstr("a put of it waits, since no memory is free"));
  node_.Pass(5s);
  ASSERT_TRUE(*waits) << "it gave up";
  EXPECT_THAT(told().back(), IsEmpty());
  node_.Pass(5s);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ClientCallsTest, WhySaysThatAnObjectFailed) {
  const std::string failed = protocol::FailureMetadata({ErrorCode::kFailed, "no data"});
  node_.directory().view = protocol::ObjectView{.metadata = failed, .inlined = true};
  EXPECT_THAT(Why(), EndsWith("is not complete at n1: no data"));
}

TEST_F(ClientCallsTest, WhySaysWhatAPutWaitsFor) {
  node_.Keep(node_.Named("own"), std::string(3_MiB, 'p'), kFirstVersion, store::CopyKind::kPrimary);
  const auto waits = Create(x_, 2_MiB, node_.NewCall());
  EXPECT_THAT(Why(), HasSubstr("a put of it waits, since no memory is free for its 2097152 bytes: "
                               "3145728 of 4194304 bytes are in use: 3145728 bytes by objects that "
                               "were put or reduced here"));
  node_.Pass(6s);
  ASSERT_TRUE(*waits) << "it gave up";
  EXPECT_THAT(Why(), EndsWith(protocol::kDoesNotExist));
  const auto created = Create(x_, 5, node_.NewCall());
  ASSERT_TRUE(*created && **created);
  EXPECT_THAT(Why(), HasSubstr("it is being put here: 0 of 5 bytes are written"));
  ASSERT_TRUE((**created)->get()->Advance(5, {}));
  const auto sealed = node_.Ask((**created)->get()->Seal(node_.NewCall()));
  EXPECT_THAT(Why(), HasSubstr("it is put here, and its directory shard has not accepted it yet"));
}

TEST_F(ClientCallsTest, WhySaysThatWhatIsFreeLiesInPieces) {
  for (const auto* name : {"a", "b", "c", "d"}) {
    node_.Keep(node_.Named(name), std::string(1_MiB, 'p'), kFirstVersion,
               store::CopyKind::kPrimary);
  }
  for (const auto* name : {"a", "c"}) node_.parts().store.Remove(node_.Named(name));
  const auto waits = Create(x_, 2_MiB, node_.NewCall());
  EXPECT_THAT(Why(), HasSubstr("; the free ones lie in pieces of at most 1048576 bytes"));
}

TEST_F(ClientCallsTest, WhySaysThatOthersHaveWaitedLonger) {
  node_.Keep(node_.Named("own"), std::string(1_MiB, 'p'), kFirstVersion, store::CopyKind::kPrimary);
  const auto first = Create(node_.Named("first"), 4_MiB, node_.NewCall());
  auto passes = Create(node_.Named("passes"), 3_MiB, node_.NewCall());
  passes.reset();
  passes = Create(node_.Named("passes, too"), 2_MiB, node_.NewCall());
  const auto waits = Create(x_, 1_MiB, node_.NewCall());
  EXPECT_THAT(Why(), HasSubstr("others, which have waited longer, come first"));
}

// Without the directory nothing is evicted: the copy may be the last one.
TEST_F(ClientCallsTest, WhySaysThatTheDirectoryIsAskedWhatMayBeEvicted) {
  node_.Keep(node_.Named("copy"), std::string(3_MiB, 'c'), kFirstVersion,
             store::CopyKind::kRelayed);
  const auto waits = Create(x_, 2_MiB, node_.NewCall(node_.now() + 1s));
  const std::string asked =
      "3145728 bytes by copies that may be evicted; the directory has not answered yet whether 1 "
      "of "
      "these may be evicted";
  EXPECT_THAT(Why(), HasSubstr(asked));
  node_.Pass(1s);
  EXPECT_THAT(ErrorOf(waits).message, EndsWith(asked));
}

// --- what a deadline asks

// Who waits for less time than the question may take is not kept waiting by it, and of very many
// that end at once some ask.
TEST_F(ClientCallsTest, ADeadlineAsksTheShardOnlyWhereThatTakesLittleTime) {
  node_.directory().view.reset();
  const auto hurried = Get(node_.NewCall(node_.now() + 29ms));
  node_.Pass(29ms);
  EXPECT_EQ(ErrorOf(hurried).code, ErrorCode::kTimeout);
  std::vector<decltype(Get(nullptr))> many;
  for (int i = 0; i < 20; ++i) many.push_back(Get(node_.NewCall(node_.now() + 1s)));
  node_.Pass(1s);
  EXPECT_EQ(std::ranges::count_if(many, [](const auto& one) { return one->has_value(); }), 4);
  for (const auto& question : node_.directory().questions) question(protocol::ObjectView());
  node_.Turn();
  EXPECT_TRUE(std::ranges::all_of(many, [](const auto& one) { return one->has_value(); }));
}

// It may well exist: the shard was asked and has said nothing since.
TEST_F(ClientCallsTest, WhatASilentShardWasAskedForIsNotSaidToBeNone) {
  node_.directory().vouched_at = NowSinceBoot();
  const auto answer = Get(node_.NewCall(node_.now() + 1s));
  node_.Pass(1s);
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kTimeout);
  EXPECT_THAT(ErrorOf(answer).message,
              HasSubstr("it is not at this node, and its directory shard has not answered yet"));
}

// Nothing is begun that would be given up at once; and what nobody asked for is not said to be none.
TEST_F(ClientCallsTest, AGetWhoseTimeIsOverAsksNobody) {
  const auto late = Get(node_.NewCall(node_.now()));
  EXPECT_EQ(ErrorOf(late).code, ErrorCode::kTimeout);
  EXPECT_THAT(ErrorOf(late).message,
              HasSubstr("it is not at this node, and its directory shard was not asked in time"));
  EXPECT_THAT(node_.Says(), IsEmpty());
  const auto copy = node_.Keep(x_, "bytes", kFirstVersion, store::CopyKind::kRelayed);
  const auto here = Get(node_.NewCall(node_.now()));
  ASSERT_TRUE(*here && **here);
}

TEST_F(ClientCallsTest, ADeletedIdIsBlockedForSoManySeconds) {
  node_.Hear(protocol::Deleted{x_, 30s, kSecondVersion});
  const auto get = Get(node_.NewCall());
  EXPECT_THAT(ErrorOf(get).message, HasSubstr("was deleted; its id is blocked for 31 s more"));
  EXPECT_EQ(ErrorOf(Create(x_, 100, node_.NewCall())).code, ErrorCode::kDeleted);
  EXPECT_THAT(node_.Says(), IsEmpty());
  node_.Pass(30s);
  EXPECT_TRUE(*Create(x_, 100, node_.NewCall()));
}

// --- Put

TEST_F(ClientCallsTest, ASmallPutIsSaidWithItsBytesAndThenHere) {
  auto created = Create(x_, 5, node_.NewCall());
  ASSERT_TRUE(*created && **created);
  const std::shared_ptr<Draft> draft = ***created;
  std::ranges::fill(draft->copy()->bytes(), std::byte{'b'});
  EXPECT_TRUE(draft->Advance(5, {}));
  const auto sealed = node_.Ask(draft->Seal(node_.NewCall()));
  EXPECT_THAT(node_.Says(), ElementsAre("create x with bytes"));
  EXPECT_FALSE(*sealed);
  node_.Hear(protocol::CreateAccepted{x_, kFirstVersion});
  EXPECT_TRUE(*sealed && **sealed);
  EXPECT_THAT(node_.Says(), ElementsAre("complete x"));
  const auto get = Get(node_.NewCall());
  ASSERT_TRUE(*get && **get);
  EXPECT_EQ(BytesOf(***get), "bbbbb");
}

TEST_F(ClientCallsTest, APutAboveTheShardsLimitIsSaidWithoutItsBytes) {
  node_.directory().limit = 4;
  auto created = Create(x_, 5, node_.NewCall());
  ASSERT_TRUE(*created && **created);
  EXPECT_THAT(node_.Says(), ElementsAre("create x")) << "others may fetch while it is written";
}

TEST_F(ClientCallsTest, AnotherPutOfWhatIsHereIsRefused) {
  node_.Keep(x_, "bytes", kFirstVersion, store::CopyKind::kPrimary);
  EXPECT_EQ(ErrorOf(Create(x_, 5, node_.NewCall())).code, ErrorCode::kAlreadyExists);
  const ObjectId y = node_.Named("y");
  const auto under_way = Create(y, 5, node_.NewCall());
  EXPECT_EQ(ErrorOf(Create(y, 5, node_.NewCall())).code, ErrorCode::kAlreadyExists);
}

TEST_F(ClientCallsTest, AGetThatWaitedIsAnsweredByAPutAtItsOwnNode) {
  const auto get = Get(node_.NewCall());
  const auto created = Create(x_, 5, node_.NewCall());
  const std::shared_ptr<Draft> draft = ***created;
  EXPECT_TRUE(draft->Advance(5, {}));
  const auto sealed = node_.Ask(draft->Seal(node_.NewCall()));
  EXPECT_FALSE(*get) << "the shard has not accepted it";
  node_.Hear(protocol::CreateAccepted{x_, kFirstVersion});
  ASSERT_TRUE(*get && **get);
  EXPECT_EQ(***get, draft->copy());
}

TEST_F(ClientCallsTest, MetadataHasALimit) {
  const auto answer =
      node_.Ask(calls_.Create(x_, 5, std::string(kMaxMetadataBytes + 1, 'm'), node_.NewCall()));
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(ErrorOf(answer).message, HasSubstr(std::to_string(kMaxMetadataBytes)));
}

TEST_F(ClientCallsTest, WhatNeverFitsIsRefusedAtOnceAndSaysBothSizes) {
  const Error error = ErrorOf(Create(x_, kStoreBytes + 1, node_.NewCall()));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(error.message, HasSubstr("is larger than the whole store"));
}

TEST_F(ClientCallsTest, WhatFindsNoRoomIsRefusedAtItsDeadlineAndCountsWhatIsInUse) {
  const auto pinned = node_.Keep(node_.Named("pinned"), std::string(3_MiB, 'p'), kFirstVersion,
                                 store::CopyKind::kPrimary);
  const auto answer = Create(x_, 2_MiB, node_.NewCall(node_.now() + 1s));
  EXPECT_FALSE(*answer);
  node_.Pass(1s);
  const Error error = ErrorOf(answer);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(
      error.message,
      HasSubstr(x_.ToHex() + " is not complete at the deadline: a put of it waits, since no "
                             "memory is free for its 2097152 bytes: 3145728 of "));
  EXPECT_THAT(node_.Says(), IsEmpty());
}

TEST_F(ClientCallsTest, APutWithoutDeadlineWaitsForRoomForFiveSeconds) {
  node_.Keep(node_.Named("primary"), std::string(3_MiB, 'p'), kFirstVersion,
             store::CopyKind::kPrimary);
  const auto gives_up = Create(x_, 2_MiB, node_.NewCall());
  node_.Pass(4900ms);
  EXPECT_FALSE(*gives_up);
  node_.Pass(100ms);
  EXPECT_EQ(ErrorOf(gives_up).code, ErrorCode::kResourceExhausted);
  const auto gets_it = Create(x_, 2_MiB, node_.NewCall());
  node_.Pass(3s);
  node_.Hear(protocol::Deleted{node_.Named("primary"), 60s, kSecondVersion});
  node_.Pass(1s);
  EXPECT_TRUE(*gets_it && **gets_it);
}

// --- Delete

TEST_F(ClientCallsTest, ADeleteWaitsForTheShardAndTakesTheCopyAlong) {
  node_.Keep(x_, "bytes", kFirstVersion, store::CopyKind::kPrimary);
  const auto deletes = node_.Ask(calls_.Delete(x_, node_.NewCall()));
  EXPECT_THAT(node_.Says(), ElementsAre("delete x"));
  EXPECT_FALSE(*deletes);
  EXPECT_NE(node_.parts().store.Find(x_), nullptr);
  node_.Hear(protocol::Deleted{x_, 60s, kSecondVersion});
  EXPECT_TRUE(*deletes && **deletes);
  EXPECT_EQ(node_.parts().store.Find(x_), nullptr);
}

TEST_F(ClientCallsTest, ADeleteThatIsNotConfirmedIsNotRepeatedAfterItsDeadline) {
  const auto deletes = node_.Ask(calls_.Delete(x_, node_.NewCall(node_.now() + 1s)));
  EXPECT_THAT(node_.Inventory(), ElementsAre("delete x"));
  node_.Pass(1s);
  EXPECT_EQ(ErrorOf(deletes).code, ErrorCode::kTimeout);
  EXPECT_THAT(node_.Inventory(), IsEmpty()) << "the id may be put again by then";
}

// Nobody is told that something is not there, or was not accepted, and no more, by a node that can
// ask nobody.
TEST_F(ClientCallsTest, WhileTheDirectoryIsAwayEveryDeadlineSaysSo) {
  node_.directory().open = false;
  const Time deadline = node_.now() + 1s;
  const ObjectId y = node_.Named("y");
  const auto created = Create(y, 5, node_.NewCall());
  ASSERT_TRUE(*created && **created);
  const std::shared_ptr<Draft> draft = ***created;
  EXPECT_TRUE(draft->Advance(5, {}));
  const auto put = node_.Ask(draft->Seal(node_.NewCall(deadline)));
  const auto get = Get(node_.NewCall(deadline));
  const auto deletes = node_.Ask(calls_.Delete(x_, node_.NewCall(deadline)));
  node_.Pass(1s);
  for (const Error& error : {ErrorOf(put), ErrorOf(get), ErrorOf(deletes)}) {
    EXPECT_EQ(error.code, ErrorCode::kTimeout);
    EXPECT_THAT(error.message, EndsWith("; directory shard 0 is away"));
  }
}

TEST_F(ClientCallsTest, ACallAtANodeThatStopsIsAnsweredWhy) {
  const auto get = Get(node_.NewCall());
  const auto deletes = node_.Ask(calls_.Delete(x_, node_.NewCall()));
  node_.directory().hooks.on_refused(Error(ErrorCode::kAlreadyExists, "its name is taken"));
  node_.Turn();
  EXPECT_THAT(ErrorOf(get).message, HasSubstr("its name is taken"));
  EXPECT_THAT(ErrorOf(deletes).message, HasSubstr("its name is taken"));
  EXPECT_EQ(ErrorOf(Create(x_, 5, node_.NewCall())).code, ErrorCode::kUnavailable);
}

// --- questions

TEST_F(ClientCallsTest, AShardThatDoesNotExistIsNotAsked) {
  const auto answer = node_.Ask(calls_.Status(3, {}, node_.NewCall()));
  EXPECT_THAT(ErrorOf(answer).message, HasSubstr("there is no shard 3, the directory has 1"));
}

TEST_F(ClientCallsTest, ACancelledQuestionMayStillBeAnswered) {
  const CallPtr call = node_.NewCall();
  node_.directory().view.reset();
  const auto answer = node_.Ask(calls_.Info(x_, call));
  call->Cancel();
  node_.Turn();
  EXPECT_EQ(ErrorOf(answer).code, ErrorCode::kCancelled);
  node_.directory().questions.at(0)(protocol::ObjectView());
}

}  // namespace
}  // namespace hoplite::node
