// Reductions that can't succeed, and members that end in the middle of one.
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "integration/sums.h"

namespace hoplite {
namespace {

using testing::Cluster;
using testing::Eventually;
using testing::IdOf;
using testing::Ids;
using testing::kSoon;
using testing::PutSource;
using testing::Sum;
using testing::WrongSum;
using namespace std::chrono_literals;

// A request for the target has reached its shard.
bool IsWaitedFor(Cluster& cluster, const ObjectId& target) {
  return Eventually([&] {
    const auto view = cluster.Find(target);
    return view && !view->waiters.empty() && !view->slots.empty();
  });
}

template <typename T>
ErrorCode CodeOf(const Result<T>& result) {
  EXPECT_FALSE(result);
  return result ? ErrorCode::kInternal : result.error().code;
}

// Two nodes; of the two sources that the second one's client reduces, only the first is there.
class HalfAReduction : public ::testing::Test {
 protected:
  void Begin(const ReduceOptions& options = Sum(2)) {
    PutSource(other_, 0, kElements);
    auto sum = client_.Reduce(options);
    ASSERT_TRUE(sum);
    sum_.emplace(std::move(*sum));
  }
  // Somebody else waits for the target.
  void BeginWithAReader(const ReduceOptions& options = Sum(2)) {
    Begin(options);
    reader_.emplace(other_.GetAsync(target(), kSoon));
    ASSERT_TRUE(IsWaitedFor(cluster_, target()));
  }
  ObjectId target() const { return sum_->target(); }
  bool TargetIsKnown() {
    return Eventually([&] { return cluster_.Find(target()).has_value(); });
  }
  // With which error the reduction ends.
  ErrorCode Ends() { return CodeOf(sum_->Wait()); }
  ErrorCode ReaderEnds() { return CodeOf(reader_->Wait()); }

  static constexpr std::size_t kElements = 40'000;
  Cluster cluster_{{.nodes = 2, .memory_bytes = 32_MiB}};
  Client other_ = cluster_.client(0);
  Client client_ = cluster_.client(1);
  std::optional<Reduction> sum_;
  std::optional<Future<Buffer>> reader_;
};

TEST_F(HalfAReduction, ADeadlineNamesWhatIsMissing) {
  auto options = Sum(2);
  options.timeout = 2s;
  BeginWithAReader(options);
  const auto outcome = sum_->Wait();
  ASSERT_EQ(CodeOf(outcome), ErrorCode::kTimeout);
  EXPECT_NE(outcome.error().message.find(IdOf(1).ToHex()), std::string::npos);
  // The client that waited for the target hears of it, too.
  EXPECT_EQ(ReaderEnds(), ErrorCode::kTimeout);
}

TEST_F(HalfAReduction, ACancelledOneEndsTheTargetsWaiters) {
  BeginWithAReader();
  sum_->Cancel();
  EXPECT_EQ(Ends(), ErrorCode::kCancelled);
  EXPECT_EQ(ReaderEnds(), ErrorCode::kCancelled);
}

TEST_F(HalfAReduction, ADeletedSourceEndsIt) {
  Begin();
  ASSERT_TRUE(client_.Delete(IdOf(1)));
  EXPECT_EQ(Ends(), ErrorCode::kDeleted);
}

TEST_F(HalfAReduction, ADeletedTargetEndsIt) {
  Begin();
  ASSERT_TRUE(TargetIsKnown());
  ASSERT_TRUE(other_.Delete(target()));
  EXPECT_EQ(Ends(), ErrorCode::kDeleted);
}

TEST_F(HalfAReduction, APutOfTheTargetIsRefusedMeanwhile) {
  Begin();
  ASSERT_TRUE(TargetIsKnown());
  for (Client* client : {&other_, &client_}) {
    const auto put = client->Put("other bytes", {.id = target()});
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().code, ErrorCode::kAlreadyExists);
  }
  PutSource(client_, 1, kElements);
  const auto outcome = sum_->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(WrongSum(client_.Get(target(), kSoon), outcome->used, kElements), "");
}

// The client of the reduction goes away: nothing stays behind, and those that waited for the target
// hear of it.
TEST_F(HalfAReduction, AClosedClientEndsIt) {
  BeginWithAReader();
  client_.Close();
  EXPECT_EQ(Ends(), ErrorCode::kCancelled);
  EXPECT_EQ(ReaderEnds(), ErrorCode::kCancelled);
  EXPECT_TRUE(Eventually([&] { return !cluster_.Find(target()); }));
}

// One fact has one text, whoever is asked.
TEST(ReduceFaults, ALostSourceIsNamedByAllTheSameWay) {
  Cluster cluster({.nodes = 3});
  PutSource(cluster.client(0), 0, 40'000);
  PutSource(cluster.client(1), 1, 40'000);
  auto client = cluster.client(2);
  const std::string lost = "its last copy, on " + cluster.client(0).node_name() +
                           ", was lost: a new put of it would help";
  const NodeId holder = cluster.id(0);
  cluster.Stop(0);
  cluster.directory().Lose(holder);
  ASSERT_TRUE(Eventually([&] { return !cluster.Find(IdOf(0)); }));
  const auto says = [&](const auto& result) {
    EXPECT_FALSE(result);
    if (!result)
      EXPECT_NE(result.error().message.find(lost), std::string::npos) << result.error().ToString();
  };
  says(client.Info(IdOf(0), kSoon));
  auto options = Sum(2);
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  ASSERT_TRUE(Eventually([&] {
    const auto view = cluster.Find(sum->target());
    return view.has_value();
  }));
  says(sum->Wait(200ms));
  options.target = ObjectId::Random();
  options.timeout = 300ms;
  auto ends = client.Reduce(options);
  ASSERT_TRUE(ends);
  says(ends->Wait());
  says(client.Get(IdOf(0), {.timeout = 200ms}));
}

// R69: not only those who waited when it ended.
TEST_F(HalfAReduction, WhoAsksForItsTargetLaterHearsWhyItEnded) {
  Begin();
  ASSERT_TRUE(TargetIsKnown());
  sum_->Cancel();
  ASSERT_EQ(Ends(), ErrorCode::kCancelled);
  for (Client* client : {&other_, &client_}) {
    const auto got = client->Get(target(), kSoon);
    ASSERT_EQ(CodeOf(got), ErrorCode::kCancelled);
    EXPECT_NE(got.error().message.find(target().ToHex()), std::string::npos) << got.error().message;
    EXPECT_EQ(CodeOf(client->Info(target(), kSoon)), ErrorCode::kCancelled);
    const std::vector<ObjectId> ids{target()};
    EXPECT_EQ(client->WaitExists(ids, 1, kSoon), ids) << "a Get would not wait";
  }
  const auto next = other_.Reduce({.sources = {target()}, .dtype = DType::kUint8});
  const auto outcome = next->Wait(kSoon.timeout);
  ASSERT_EQ(CodeOf(outcome), ErrorCode::kCancelled);
  EXPECT_NE(outcome.error().message.find(target().ToHex() + ", a source, failed"),
            std::string::npos);
  ASSERT_TRUE(other_.Put("other bytes", {.id = target()}));
  EXPECT_TRUE(client_.Get(target(), kSoon));
}

// R69: the coordinator's node stands still, or is cut off, for longer than the grace.
TEST_F(HalfAReduction, ItsCallerIsToldWhatTheReadersWere) {
  BeginWithAReader();
  const NodeId self = cluster_.id(1);
  cluster_.directory().Lose(self);
  const auto read = reader_->Wait();
  ASSERT_EQ(CodeOf(read), ErrorCode::kPeerLost);
  cluster_.directory().Reconnect(self);
  const auto outcome = sum_->Wait(kSoon.timeout);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(), read.error());
}

TEST(ReduceFaults, SourcesOfDifferentSizesAreRefused) {
  Cluster cluster({.nodes = 2});
  PutSource(cluster.client(0), 0, 40'000);
  PutSource(cluster.client(1), 1, 40'001);
  auto client = cluster.client(1);
  auto sum = client.Reduce(Sum(2));
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(outcome.error().message.find("320000"), std::string::npos) << outcome.error().message;
  EXPECT_NE(outcome.error().message.find("320008"), std::string::npos) << outcome.error().message;
}

// Small ones are folded at the coordinator, large ones in a tree; the third comes when the reduction
// waits for it.
TEST(ReduceFaults, SourcesThatAreNotAlikeAreRefusedAlsoWhenTheyComeLate) {
  Cluster cluster({.nodes = 2});
  const auto put = [&](std::size_t node, const ObjectId& id, std::size_t bytes, const char* what) {
    return cluster.client(node).Put(testing::Pattern(bytes, 1), {.id = id, .metadata = what});
  };
  auto client = cluster.client(1);
  for (const std::size_t bytes : {800, 800'000}) {
    ReduceOptions options{.dtype = DType::kUint8, .alike = "rows", .timeout = 30s};
    for (int i = 0; i < 3; ++i) options.sources.push_back(ObjectId::Random());
    ASSERT_TRUE(put(0, options.sources[0], bytes, "rows 8\nfirst"));
    ASSERT_TRUE(put(1, options.sources[1], bytes, "rows 8\nsecond"));
    auto sum = client.Reduce(options);
    ASSERT_TRUE(sum);
    auto reader = cluster.client(0).GetAsync(sum->target(), kSoon);
    ASSERT_TRUE(Eventually([&] {
      const auto view = cluster.Find(sum->target());
      return view && !view->waiters.empty();
    }));
    ASSERT_TRUE(put(0, options.sources[2], bytes, "rows 9\nthird"));
    const auto outcome = sum->Wait();
    ASSERT_EQ(CodeOf(outcome), ErrorCode::kInvalidArgument);
    for (const std::string& named :
         {options.sources[2].ToHex(), std::string("'rows 8'"), std::string("'rows 9'")}) {
      EXPECT_NE(outcome.error().message.find(named), std::string::npos) << outcome.error().message;
    }
    EXPECT_EQ(CodeOf(reader.Wait()), ErrorCode::kInvalidArgument);
  }
}

TEST(ReduceFaults, AnExistingTargetIsRefused) {
  Cluster cluster({.nodes = 2});
  PutSource(cluster.client(0), 0, 40'000);
  PutSource(cluster.client(0), 1, 40'000);
  auto options = Sum(1);
  options.target = IdOf(1);
  auto client = cluster.client(1);
  auto sum = client.Reduce(options);
  ASSERT_TRUE(sum);
  const auto outcome = sum->Wait();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kAlreadyExists);
  EXPECT_TRUE(client.Get(IdOf(1), kSoon));
}

TEST(ReduceFaults, OneThatMakesNoSenseIsRefusedInWords) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  auto client = cluster.client(0);
  const auto why = [&](const ReduceOptions& options) {
    auto sum = client.Reduce(options);
    const auto error = sum ? sum->Wait().error() : sum.error();
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << error.ToString();
    return error.message;
  };
  EXPECT_NE(why(Sum(0)).find("source"), std::string::npos);
  auto twice = Sum(2);
  twice.sources[1] = twice.sources[0];
  EXPECT_NE(why(twice).find("twice"), std::string::npos);
  auto many = Sum(2);
  many.num_objects = 3;
  EXPECT_NE(why(many).find('3'), std::string::npos);
  auto none = Sum(2);
  none.num_objects = 0;
  EXPECT_NE(why(none).find('0'), std::string::npos);
  auto own = Sum(2);
  own.target = own.sources[1];
  EXPECT_NE(why(own).find("target"), std::string::npos);
  auto bits = Sum(2);
  bits.op = Op::kXor;
  bits.dtype = DType::kFloat32;
  EXPECT_NE(why(bits).find("xor"), std::string::npos);
}

TEST(ReduceFaults, ASizeThatHoldsNoWholeElementsIsRefused) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  auto client = cluster.client(0);
  for (const std::size_t bytes : {7, 100'001}) {
    const auto id = client.Put(testing::Pattern(bytes, 1));
    ASSERT_TRUE(id);
    auto sum = client.Reduce({.sources = {*id}, .dtype = DType::kFloat64, .timeout = 30s});
    ASSERT_TRUE(sum);
    const auto outcome = sum->Wait();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(outcome.error().message.find(std::to_string(bytes)), std::string::npos);
  }
}

TEST(ReduceFaults, MoreFoldedBytesThanASourceHasAreRefused) {
  Cluster cluster({.nodes = 1, .memory_bytes = 32_MiB});
  auto client = cluster.client(0);
  for (const std::size_t bytes : {801, 800'001}) {
    const auto id = client.Put(testing::Pattern(bytes, 1));
    ASSERT_TRUE(id);
    auto sum = client.Reduce(
        {.sources = {*id}, .dtype = DType::kFloat32, .folded_bytes = bytes + 3, .timeout = 30s});
    ASSERT_TRUE(sum);
    const auto outcome = sum->Wait();
    ASSERT_EQ(CodeOf(outcome), ErrorCode::kInvalidArgument);
    for (const std::size_t named : {bytes, bytes + 3}) {
      EXPECT_NE(outcome.error().message.find(std::to_string(named)), std::string::npos)
          << outcome.error().message;
    }
  }
}

struct Loss {
  std::uint32_t degree;
  std::size_t node;  // that ends in the middle
};

class ReduceWithALoss : public ::testing::TestWithParam<Loss> {};

// One source per node, one more than needed: a node that ends is replaced, and all readers have the
// same sum. (The last node coordinates and reads.)
TEST_P(ReduceWithALoss, GoesOnWithTheSpare) {
  constexpr std::size_t kElements = 500'000;
  testing::ClusterOptions options{.nodes = 6, .memory_bytes = 32_MiB};
  options.rate_bytes_per_second = 8_MiB;
  options.directory.service.grace = 200ms;
  Cluster cluster(options);
  for (std::size_t i = 0; i < 4; ++i) PutSource(cluster.client(i), i, kElements);
  auto reduction = Sum(5);
  reduction.num_objects = 4;
  reduction.degree = GetParam().degree;
  auto client = cluster.client(5);
  auto sum = client.Reduce(reduction);
  ASSERT_TRUE(sum);
  auto early = client.GetAsync(sum->target(), kSoon);
  ASSERT_TRUE(Eventually([&] {
    const auto view = cluster.Find(sum->target());
    return view && std::ranges::any_of(view->slots, [](const protocol::SlotView& slot) {
             return slot.parents.empty() && slot.valid_bytes > 0;
           });
  }));
  cluster.Stop(GetParam().node);
  PutSource(cluster.client(4), 4, kElements);
  const auto outcome = sum->Wait();
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->used.size(), 4u);
  EXPECT_EQ(WrongSum(early.Wait(), outcome->used, kElements), "");
}

INSTANTIATE_TEST_SUITE_P(Losses, ReduceWithALoss,
                         ::testing::Values(Loss{1, 0}, Loss{1, 1}, Loss{1, 2}, Loss{1, 3},
                                           Loss{2, 0}, Loss{2, 1}, Loss{2, 2}, Loss{2, 3},
                                           Loss{4, 0}, Loss{4, 1}),
                         [](const auto& loss) {
                           return "Degree" + std::to_string(loss.param.degree) + "Node" +
                                  std::to_string(loss.param.node);
                         });

}  // namespace
}  // namespace hoplite
