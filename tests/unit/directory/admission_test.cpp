#include "directory/admission.h"

#include <gtest/gtest.h>

#include "directory/cluster_id.h"

namespace hoplite::directory {
namespace {

using Shards = std::vector<std::string>;

wire::Hello From(const Shards& shards, std::size_t index = 0, const std::string& cluster = "") {
  wire::Hello hello;
  hello.node = {NodeId{7}, "n7", "127.0.0.1:7"};
  hello.cluster = cluster;
  hello.cluster_id = ClusterId(shards, cluster);
  hello.shard_index = index;
  hello.shard_count = shards.size();
  return hello;
}

void ExpectRefused(const Result<void>& result, const std::string& words) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
}

TEST(ClusterId, DependsOnOrderListAndName) {
  EXPECT_EQ(ClusterId({"a:1", "b:2"}, "x"), ClusterId({"a:1", "b:2"}, "x"));
  EXPECT_NE(ClusterId({"a:1", "b:2"}, ""), ClusterId({"b:2", "a:1"}, ""));
  EXPECT_NE(ClusterId({"a:1"}, ""), ClusterId({"a:1"}, "x"));
  EXPECT_NE(ClusterId({"a:1", "b:2"}, ""), ClusterId({"a:1b:2"}, ""));
}

TEST(Admission, ItsOwnClusterIsLetIn) {
  const Admission admission({"a:1", "b:2"}, "blue", "b:2");
  EXPECT_TRUE(admission.Check(From({"a:1", "b:2"}, 1, "blue")));
}

TEST(Admission, RefusalsSayWhatDiffers) {
  const Admission admission({"a:1", "b:2"}, "blue", "b:2");
  ExpectRefused(admission.Check(From({"a:1", "b:2"}, 1, "red")), "'red'");
  ExpectRefused(admission.Check(From({"a:1"}, 0, "blue")), "names 1 directory shards");
  ExpectRefused(admission.Check(From({"a:1", "c:3"}, 1, "blue")), "a:1,b:2");
  ExpectRefused(admission.Check(From({"a:1", "b:2"}, 0, "blue")), "number 0");
  wire::Hello old = From({"a:1", "b:2"}, 1, "blue");
  old.protocol = 99;
  ExpectRefused(admission.Check(old), "version 99");
}

TEST(Admission, AShardWithoutAListTakesThatOfItsFirstNode) {
  Admission admission({}, "", "127.0.0.1:4000");
  ExpectRefused(admission.Check(From({"a:1", "b:2"})), "names 2 directory shards");
  ASSERT_TRUE(admission.Check(From({"a:1"})));
  admission.Joined(From({"a:1"}));
  EXPECT_TRUE(admission.Check(From({"a:1"})));
  ExpectRefused(admission.Check(From({"other:1"})), "otherwise");
  admission.Emptied();
  EXPECT_TRUE(admission.Check(From({"other:1"})));
}

}  // namespace
}  // namespace hoplite::directory
