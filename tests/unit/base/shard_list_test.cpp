// Shards of several members, as people write them.
#include "base/shard_list.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite {
namespace {

using Shards = std::vector<std::string>;

TEST(ShardListTest, ASlashSeparatesTheMembersOfAShard) {
  EXPECT_EQ(MembersOf("a:1"), Shards{"a:1"});
  EXPECT_EQ(MembersOf("a:1/b:2/[::1]:3"), (Shards{"a:1", "b:2", "[::1]:3"}));
  EXPECT_EQ(MembersOf("a:1/"), (Shards{"a:1", ""}));
}

TEST(ShardListTest, AMemberHasAPlace) {
  const Shards shards{"a:1/b:1/c:1", "d:1"};
  EXPECT_EQ(PlaceOf(shards, "c:1"), 0);
  EXPECT_EQ(PlaceOf(shards, "d:1"), 1);
  EXPECT_EQ(PlaceOf(shards, "a:1/b:1/c:1"), std::nullopt);
}

struct Case {
  Shards shards;
  std::string wrong;  // empty: nothing
};

TEST(ShardListTest, WhatIsWrongIsNamed) {
  const std::vector<Case> cases{
      {{}, ""},
      {{"a:1"}, ""},
      {{"a:1", "b:1"}, ""},
      {{"a:1/b:1/c:1", "d:1/e:1/f:1/g:1/h:1"}, ""},
      {{"a:1/b:1"}, "shard 0, 'a:1/b:1', has 2 members: 1, 3 or 5 are possible"},
      {{"z:1", "a:1/b:1/c:1/d:1"},
       "shard 1, 'a:1/b:1/c:1/d:1', has 4 members: 1, 3 or 5 are possible"},
      {{"a:1/b:1/c:1/d:1/e:1/f:1/g:1"},
       "shard 0, 'a:1/b:1/c:1/d:1/e:1/f:1/g:1', has 7 members: 1, 3 or 5 are possible"},
      {{"a:1/b:1/a:1"}, "'a:1' is there twice: as member 0 of shard 0 and as member 2 of shard 0"},
      {{"a:1/b:1/c:1", "c:1"},
       "'c:1' is there twice: as member 2 of shard 0 and as member 0 of shard 1"},
      {{"a:1//c:1"}, "'' is no address: write HOST:PORT or [IPV6]:PORT"},
      {{"a:1/b/c:1"}, "'b' is no address: write HOST:PORT or [IPV6]:PORT"},
  };
  for (const auto& [shards, wrong] : cases) {
    const Result<void> sound = CheckShards(shards);
    EXPECT_EQ(sound ? "" : sound.error().message, wrong);
  }
}

}  // namespace
}  // namespace hoplite
