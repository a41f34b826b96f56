// Pictures come in pages of a bounded size, in the order of ids.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "planner/shard/directory_state.h"
#include "protocol/object_name.h"

namespace hoplite::planner {
namespace {

class PlannerViews : public ::testing::Test {
 protected:
  PlannerViews() : state_(NewCluster(), Time{}) { Join(1); }

  static DirectoryOptions NewCluster() {
    DirectoryOptions options;
    options.recovery_window = Duration{0};
    return options;
  }
  void Join(std::uint64_t node) {
    const std::string name = "n" + std::to_string(node);
    state_.Apply({Time{}, NodeJoined{{NodeId(node), name, "x:1"}, 0}});
    Say(node, InventoryEnd{});
  }
  void Say(std::uint64_t node, NodeEvent event) {
    state_.Apply({Time{}, NodeSaid{NodeId(node), std::move(event)}});
  }
  void Plan() {
    std::vector<Action> actions;
    state_.Plan(Time{}, actions);
  }
  void Put(int count) {
    const auto bytes = std::make_shared<const std::string>(16, 'x');
    for (int i = 0; i < count; ++i) {
      Say(1, Create{ObjectId::FromName(std::to_string(i)), Layout::For(16), "", bytes});
    }
    Plan();
  }

  DirectoryState state_;
};

TEST_F(PlannerViews, ARateHasTheAgeOfItsLastReport) {
  const auto after = [](int seconds) { return Time{} + std::chrono::seconds(seconds); };
  EXPECT_EQ(state_.Nodes(after(9))[0].rate_age, Duration{0}) << "nothing was measured";
  state_.Apply({after(1), NodeSaid{NodeId(1), Progress{.bytes_per_second = 1000}}});
  state_.Apply({after(2), NodeSaid{NodeId(1), Progress{.starved_for = std::chrono::seconds(1)}}});
  EXPECT_EQ(state_.Nodes(after(9))[0].bytes_per_second, 1000U);
  EXPECT_EQ(state_.Nodes(after(9))[0].rate_age, std::chrono::seconds(8));
}

TEST_F(PlannerViews, PagesShowEveryObjectOnceInOrder) {
  constexpr int kObjects = 2500;
  Put(kObjects);
  std::vector<ObjectId> shown;
  PageRequest request;
  int pages = 0;
  for (bool more = true; more; ++pages) {
    const ObjectPage page = state_.Objects(request);
    ASSERT_LE(page.objects.size(), kMaxPageObjects);
    for (const ObjectView& object : page.objects) shown.push_back(object.object);
    more = page.more;
    request.after = shown.back();
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(shown.size(), static_cast<std::size_t>(kObjects));
  EXPECT_TRUE(std::ranges::is_sorted(shown));
  EXPECT_EQ(std::set<ObjectId>(shown.begin(), shown.end()).size(), shown.size());
}

// A Put that waits for memory has created nothing: only its node knows of it.
TEST_F(PlannerViews, WhatANodeWaitsForIsUnderWayAlsoWithoutARecord) {
  const ObjectId put = ObjectId::FromName("waits for memory");
  Put(3);
  Join(2);
  Say(2, ToldWaits{{{put, "no memory", "waits for memory"}}});
  const ObjectPage page = state_.Objects({.under_way = true});
  ASSERT_EQ(page.objects.size(), 1U);
  EXPECT_EQ(page.objects[0].object, put);
  EXPECT_EQ(NameIn(page.objects[0].metadata, put), "waits for memory");
  ASSERT_EQ(page.objects[0].waiters.size(), 1U);
  EXPECT_EQ(page.objects[0].waiters[0].node_name, "n2");
  EXPECT_EQ(page.objects[0].waiters[0].why, "no memory");
  EXPECT_EQ(NameIn(state_.Find(put)->metadata, put), "waits for memory");
  EXPECT_EQ(state_.Objects(PageRequest{}).objects.size(), 3U) << "the others are what exists";
  EXPECT_TRUE(state_.Objects({.after = ObjectId(), .under_way = true}).objects.empty())
      << "with the first page only";
  Say(2, ToldWaits{});
  EXPECT_TRUE(state_.Objects({.under_way = true}).objects.empty());
}

TEST_F(PlannerViews, WaitsWithoutARecordLeaveRoomForOthers) {
  Put(1);
  Say(1, Locate{ObjectId::FromName("asked for")});
  Plan();
  ToldWaits waits;
  for (std::size_t i = 0; i < kMostWaits; ++i) {
    waits.waits.push_back({ObjectId::FromName("waits " + std::to_string(i)), "no memory"});
  }
  Say(1, waits);
  const ObjectPage page = state_.Objects({.limit = 4, .under_way = true});
  ASSERT_EQ(page.objects.size(), 4U);
  EXPECT_EQ(page.objects.back().object, ObjectId::FromName("asked for"));
}

TEST_F(PlannerViews, NoRequestMakesAPageLarger) {
  Put(1500);
  EXPECT_EQ(state_.Objects({.limit = 1'000'000}).objects.size(), kMaxPageObjects);
  EXPECT_EQ(state_.Objects({.limit = 7}).objects.size(), 7U);
  const ObjectPage least = state_.Objects({.limit = 0});  // whoever asks again gets on
  EXPECT_EQ(least.objects.size(), 1U);
  EXPECT_TRUE(least.more);
}

TEST_F(PlannerViews, WhatComesBehindThePageIsStillSeen) {
  Put(10);
  const ObjectPage first = state_.Objects({.limit = 5});
  Say(1, Delete{first.objects.back().object});  // a page goes on behind an object that is gone
  Plan();
  const ObjectPage second = state_.Objects({.after = first.objects.back().object});
  EXPECT_EQ(second.objects.size(), 5U);
  EXPECT_FALSE(second.more);
}

TEST_F(PlannerViews, ObjectsOfManyHoldersMakeShortPages) {
  constexpr std::uint64_t kNodes = 1500;
  for (std::uint64_t node = 2; node <= kNodes; ++node) Join(node);
  for (int i = 0; i < 5; ++i) {
    const ObjectId object = ObjectId::FromName(std::to_string(i));
    for (std::uint64_t node = 1; node <= kNodes; ++node) {
      Held held{object, Version{{1, 1}}, Layout::For(16), "", Layout::For(16).full_marks()};
      held.complete = true;
      Say(node, held);
    }
  }
  Plan();
  const ObjectPage page = state_.Objects(PageRequest{});
  EXPECT_EQ(page.objects.size(), 2U);  // 3,000 holders; a third object would make 4,500
  EXPECT_TRUE(page.more);
}

TEST_F(PlannerViews, APageHasOnlyWhatIsUnderWay) {
  Put(30);
  Join(2);
  const ObjectId absent = ObjectId::FromName("nobody put it");
  Say(2, Locate{.object = absent});
  const ObjectId growing = ObjectId::FromName("growing");
  Say(1, Create{growing, Layout::For(1 << 20), ""});
  Plan();
  std::set<ObjectId> shown;
  for (const ObjectView& object : state_.Objects({.under_way = true}).objects) {
    shown.insert(object.object);
  }
  EXPECT_EQ(shown, (std::set<ObjectId>{absent, growing}));
}

TEST_F(PlannerViews, APageLooksAtABoundedNumberOfObjects) {
  Put(static_cast<int>(kMaxPageLooks) + 10);
  for (int i = 0; i < 100; ++i) Plan();  // each time some of them
  const ObjectPage first = state_.Objects({.under_way = true});
  EXPECT_TRUE(first.objects.empty());
  ASSERT_TRUE(first.more);
  ASSERT_TRUE(first.reached);
  EXPECT_FALSE(state_.Objects({.after = first.reached, .under_way = true}).more);
}

TEST_F(PlannerViews, TheShardCountsWhatItKeeps) {
  Put(30);
  EXPECT_EQ(state_.Shard().objects, 30U);
  EXPECT_EQ(state_.Shard().inline_bytes, 480U);
  EXPECT_EQ(state_.Shard().inline_total_bytes, DirectoryOptions{}.inline_total_bytes);
}

}  // namespace
}  // namespace hoplite::planner
