// A dtype and an operation that are rows of the table and nothing else: every layer takes them. The
// rows are in this program alone, which compiles the table anew and links all else as it is.
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <hoplite/c.h>

#include "base/reduce_options.h"
#include "base/reduce_table.h"
#include "base/reduce_types.h"
#include "cli/command_line.h"
#include "client/c/handles.h"
#include "client/channel/patch.h"
#include "hoplite/v1/directory.pb.h"
#include "node/local/local_convert.h"
#include "protocol/elements.h"
#include "reduce/fold.h"
#include "testing/cluster.h"
#include "wire/reduce_fields.h"

namespace hoplite {
namespace {

using testing::Cluster;
using namespace std::chrono_literals;

constexpr DType kDType = kDTypeRows.back().value;
constexpr Op kOp = kOpRows.back().value;
using Element = std::int16_t;

TEST(MadeUpRows, HaveNamesSizesAndKinds) {
  EXPECT_EQ(Name(kDType), "made_up");
  EXPECT_EQ(SizeOf(kDType), sizeof(Element));
  EXPECT_EQ(ParseDType("made_up"), kDType);
  EXPECT_EQ(ParseOp("made_up"), kOp);
  EXPECT_EQ(AllDTypes().back(), kDType);
  EXPECT_TRUE(Supports(Op::kXor, kDType));
  EXPECT_EQ(Supports(Op::kMean, kDType).error().message, "mean works on floats, not on made_up");
  EXPECT_TRUE(Supports(kOp, DType::kInt8));
  EXPECT_FALSE(Supports(kOp, DType::kFloat32));
  const ObjectId source = ObjectId::FromName("source");
  EXPECT_TRUE(CheckReduceOptions({.sources = {source}, .op = kOp}));
  EXPECT_TRUE(CheckReduceOptions({.sources = {source}, .dtype = kDType, .folded_bytes = 6}));
  EXPECT_FALSE(CheckReduceOptions({.sources = {source}, .dtype = kDType, .folded_bytes = 3}));
}

TEST(MadeUpRows, AreNotedWithAnObjectAndInAChannel) {
  EXPECT_EQ(protocol::ElementsIn(protocol::WithElements(kDType, "users")), kDType);
  EXPECT_EQ(client::ElementBytes("made_up", 100), sizeof(Element));
}

TEST(MadeUpRows, PassBetweenNodesAndShards) {
  const auto message = wire::Written<v1::Fold>(protocol::Fold{.op = kOp, .dtype = kDType});
  const auto fold = wire::ReadAs<protocol::Fold>(message);
  ASSERT_TRUE(fold) << fold.error().ToString();
  EXPECT_EQ(fold->op, kOp);
  EXPECT_EQ(fold->dtype, kDType);
  v1::ShardFold of_shard;
  const ObjectId source = ObjectId::FromName("source");
  of_shard.add_sources(std::string(source.view()));
  *of_shard.mutable_fold() = message;
  EXPECT_TRUE(wire::ReadAs<protocol::ShardFold>(of_shard));
}

TEST(MadeUpRows, PassFromClientsToNodes) {
  v1::local::Reduce message;
  message.set_op(static_cast<std::uint32_t>(kOp));
  message.set_dtype(static_cast<std::uint32_t>(kDType));
  const auto options = node::ReadReduce(message, ObjectId::FromName("target"));
  ASSERT_TRUE(options) << options.error().ToString();
  EXPECT_EQ(options->op, kOp);
  EXPECT_EQ(options->dtype, kDType);
}

TEST(MadeUpRows, AreWordsOfCAndOfTheCommandLine) {
  const unsigned flags = hoplite_of("made_up");
  EXPECT_TRUE(c::CheckPutFlags(flags));
  EXPECT_EQ(c::ForPut(hoplite_id{}, nullptr, 0, flags, 0).dtype, kDType);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--op", "min", "--dtype", "made_up"}, {"--op", "made_up"}}) {
    std::vector<std::string> words = {"reduce", "name:x", "--socket", "/nonexistent/hoplite.sock"};
    words.insert(words.end(), options.begin(), options.end());
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_NE(cli::Run(words, out, err), cli::ExitStatus::kUsage) << err.str();
  }
}

// From what the directory folds by itself to what nodes fold along a tree.
class MadeUpDType : public ::testing::TestWithParam<std::size_t> {};

TEST_P(MadeUpDType, IsPutAndFoldedByRealNodes) {
  constexpr Element kValues[] = {-7, 300, 2};
  Cluster cluster({.nodes = std::size(kValues), .memory_bytes = 32_MiB});
  std::vector<ObjectId> sources;
  for (std::size_t i = 0; i < std::size(kValues); ++i) {
    const std::vector<Element> array(GetParam(), kValues[i]);
    const auto id = cluster.client(i).Put(std::as_bytes(std::span(array)), {.dtype = kDType});
    ASSERT_TRUE(id) << id.error().ToString();
    sources.push_back(*id);
  }
  for (const auto& [op, expected] : {std::pair{Op::kSum, 295}, {Op::kMin, -7}, {Op::kMax, 300}}) {
    SCOPED_TRACE(Name(op));
    const auto reduction = cluster.client(0).Reduce({.sources = sources, .op = op, .timeout = 30s});
    ASSERT_TRUE(reduction) << reduction.error().ToString();
    const auto outcome = reduction->Wait();
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    const auto target = cluster.client(1).Get(reduction->target(), {.timeout = 30s});
    ASSERT_TRUE(target) << target.error().ToString();
    const std::vector<Element> wanted(GetParam(), static_cast<Element>(expected));
    EXPECT_TRUE(std::ranges::equal(target->as<Element>().value(), wanted));
  }
}

INSTANTIATE_TEST_SUITE_P(Elements, MadeUpDType, ::testing::Values(8, 4'000, 400'000));

}  // namespace
}  // namespace hoplite
