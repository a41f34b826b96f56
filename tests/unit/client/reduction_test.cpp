// What Client::Reduce and Reduction promise, over both ways of attaching. The node is a fake, whose
// target is a copy of the first source that is used.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <hoplite/client.h>

#include "protocol/object_name.h"
#include "testing/attached_test.h"
#include "testing/bytes.h"

namespace hoplite::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::EndsWith;

class ReductionTest : public AttachedTest {
 protected:
  const ObjectId first_ = ObjectId::FromName("first");
  const ObjectId second_ = ObjectId::FromName("second");
  const ObjectId third_ = ObjectId::FromName("third");
};

HOPLITE_TEST_BOTH_WAYS(ReductionTest);

TEST_P(ReductionTest, TheNodeIsToldEveryOption) {
  ASSERT_TRUE(client_.Put("abcd", {.id = first_}));
  const ObjectId target = ObjectId::FromName("target");
  const auto reduction = client_.Reduce({.sources = {second_, first_},
                                         .op = Op::kMax,
                                         .dtype = DType::kUint16,
                                         .num_objects = 1,
                                         .target = target,
                                         .metadata = "m",
                                         .alike = "k",
                                         .root_here = true,
                                         .degree = 3,
                                         .everyone_reads = true});
  ASSERT_TRUE(reduction) << reduction.error().ToString();
  EXPECT_EQ(reduction->target(), target);
  const auto outcome = reduction->Wait(5s);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->target, target);
  EXPECT_THAT(outcome->used, ElementsAre(first_));
  EXPECT_THAT(outcome->unused, ElementsAre(second_));
  const ReduceOptions told = node_.OnLoop([this] { return node_.operations().reduction(); });
  EXPECT_THAT(told.sources, ElementsAre(second_, first_));
  EXPECT_EQ(told.op, Op::kMax);
  EXPECT_EQ(told.dtype, DType::kUint16);
  EXPECT_EQ(told.num_objects, 1u);
  EXPECT_EQ(told.target, target);
  EXPECT_EQ(protocol::NameIn(told.metadata, target), "target");
  EXPECT_EQ(protocol::WithoutName(told.metadata), "m");
  EXPECT_EQ(told.alike, "k");
  EXPECT_TRUE(told.root_here);
  EXPECT_FALSE(told.fixed_order);
  EXPECT_EQ(told.degree, 3u);
  EXPECT_TRUE(told.everyone_reads);
  EXPECT_EQ(Text(client_.Get(target, {.timeout = 5s})), "abcd");
  // Not with a degree above 1.
  const auto ordered = client_.Reduce({.sources = {first_}, .fixed_order = true});
  ASSERT_TRUE(ordered->Wait(5s));
  EXPECT_TRUE(node_.OnLoop([this] { return node_.operations().reduction().fixed_order; }));
}

TEST_P(ReductionTest, WithoutATargetEachHasOneOfItsOwn) {
  ASSERT_TRUE(client_.Put("abcd", {.id = first_}));
  const auto one = client_.Reduce({.sources = {first_}});
  const auto other = client_.Reduce({.sources = {first_}});
  EXPECT_NE(one->target(), ObjectId());
  EXPECT_NE(one->target(), other->target());
  EXPECT_EQ(one->Wait(5s)->target, one->target());
  EXPECT_TRUE(other->Wait(5s));
  EXPECT_FALSE(node_.OnLoop([this] { return node_.operations().reduction().num_objects; }))
      << "nothing said means all";
  EXPECT_FALSE(node_.OnLoop([this] { return node_.operations().reduction().alike; }));
  EXPECT_FALSE(node_.OnLoop([this] { return node_.operations().reduction().everyone_reads; }));
}

TEST_P(ReductionTest, AWaitThatEndsEarlyLeavesItGoingOn) {
  const auto reduction = client_.Reduce({.sources = {first_, second_, third_}, .num_objects = 2});
  ASSERT_TRUE(client_.Put("abcd", {.id = third_}));
  EXPECT_EQ(CodeOf(reduction->Wait(0ms)), ErrorCode::kTimeout);
  const auto early = reduction->Wait(10ms);
  ASSERT_EQ(CodeOf(early), ErrorCode::kTimeout);
  EXPECT_EQ(early.error().message, "object " + reduction->target().ToHex() + " is not complete")
      << "in the words of its node";
  EXPECT_FALSE(reduction->ready());
  ASSERT_TRUE(client_.Put("abcd", {.id = second_}));
  const auto outcome = reduction->Wait(5s);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_THAT(outcome->used, ElementsAre(second_, third_));
  EXPECT_THAT(outcome->unused, ElementsAre(first_));
  EXPECT_TRUE(reduction->ready());
  EXPECT_EQ(reduction->Wait(0ms)->used, outcome->used) << "each time it is asked";
}

TEST_P(ReductionTest, ItsOwnTimeoutIsTheNodesAnswer) {
  const auto reduction = client_.Reduce({.sources = {first_}, .timeout = 30ms});
  const auto outcome = reduction->Wait();
  ASSERT_EQ(CodeOf(outcome), ErrorCode::kTimeout);
  EXPECT_EQ(outcome.error().message, "sources are missing");
}

TEST_P(ReductionTest, CancelGivesItUpOnce) {
  auto reduction = client_.Reduce({.sources = {first_}}).value();
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  reduction.Cancel();
  EXPECT_TRUE(reduction.ready());
  EXPECT_EQ(CodeOf(reduction.Wait()), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
  reduction.Cancel();
  EXPECT_EQ(CodeOf(reduction.Wait()), ErrorCode::kCancelled);
}

TEST_P(ReductionTest, CancelAfterTheOutcomeChangesNothing) {
  ASSERT_TRUE(client_.Put("abcd", {.id = first_}));
  auto reduction = client_.Reduce({.sources = {first_}}).value();
  ASSERT_TRUE(reduction.Wait(5s));
  reduction.Cancel();
  EXPECT_TRUE(reduction.Wait());
}

TEST_P(ReductionTest, GoesOnWithoutItsHandle) {
  std::optional<Reduction> reduction = client_.Reduce({.sources = {first_}}).value();
  const ObjectId target = reduction->target();
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  reduction.reset();
  ASSERT_TRUE(client_.Put("abcd", {.id = first_}));
  EXPECT_EQ(Text(client_.Get(target, {.timeout = 5s})), "abcd");
}

TEST_P(ReductionTest, EndsWithItsClient) {
  std::optional<Client> other = Attach();
  const auto closed = other->Reduce({.sources = {first_}});
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  other->Close();
  EXPECT_EQ(CodeOf(closed->Wait()), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
  other = Attach();
  (void)other->Reduce({.sources = {first_}});
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  other.reset();
  EXPECT_TRUE(Eventually([&] { return node_.waiting() == 0; }));
}

TEST_P(ReductionTest, EndsWithTheNode) {
  const auto lost = client_.Reduce({.sources = {first_}});
  ASSERT_TRUE(Eventually([&] { return node_.waiting() == 1; }));
  node_.Stop();
  EXPECT_EQ(CodeOf(lost->Wait()), ErrorCode::kUnavailable);
}

TEST_P(ReductionTest, WhatCanNotBeIsRefusedAtOnce) {
  EXPECT_EQ(CodeOf(client_.Reduce({.sources = {first_}, .op = Op::kXor, .dtype = DType::kFloat32})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client_.Reduce({.sources = {first_}, .op = Op{9}})),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client_.Reduce({.sources = {first_}, .dtype = DType{0}})),
            ErrorCode::kInvalidArgument);
  EXPECT_THAT(client_.Reduce({.sources = {first_, first_}}).error().message,
              EndsWith(first_.ToHex() + " is listed twice"));
  EXPECT_EQ(CodeOf(client_.Reduce({})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(client_.Reduce({.sources = {first_}, .metadata = std::string(4097, 'm')})),
            ErrorCode::kInvalidArgument);
  std::vector<ObjectId> many{first_};
  while (many.size() <= kMaxReduceSources) many.push_back(ObjectId::Random());
  const auto refused = client_.Reduce({.sources = many});
  ASSERT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("16385"));
  many.pop_back();
  ASSERT_TRUE(client_.Put("abcd", {.id = first_}));
  EXPECT_TRUE(client_.Reduce({.sources = many, .num_objects = 1})->Wait(5s));
}

}  // namespace
}  // namespace hoplite::test
