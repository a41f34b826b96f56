// Which source takes which slot of a reduce tree, and what replaces a lost one.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/elements.h"
#include "protocol/object_name.h"
#include "reduce_planning.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ReducePlanning, Figure5a) {
  options_.degree = 2;
  Start(6);
  for (int i = 1; i <= 6; ++i) Arrive(i);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1", "2^4+2 @2 s2", "3^2+0 @3 s3",
                                  "4^0+2 @4 s4", "5^6+0 @5 s5", "6^4+1 @6 s6"));
  EXPECT_EQ(next_, kNever);
}

TEST_F(ReducePlanning, Figure5bTheNextArrivalTakesTheLostPlace) {
  options_.degree = 2;
  Start(7, 6);
  for (int i = 1; i <= 6; ++i) Arrive(i);
  Plan();
  Arrive(7);
  EXPECT_THAT(Plan(), IsEmpty());
  Lose(2);
  EXPECT_THAT(Plan(), ElementsAre("2^4+2 @7 s7"));
}

TEST_F(ReducePlanning, WhatIsThereAtTheStartIsPlannedTogether) {
  Start(3);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, kNever);
  Tell(1, 1);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, now_ + microseconds(100));
  Tell(2, 1);
  Batch();
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1 s2"));
  Tell(3, 1);  // later, so it is not grouped any more
  EXPECT_THAT(Plan(), ElementsAre("2^0+1 @1 s3"));
}

TEST_F(ReducePlanning, NothingIsSaidBeforeTheTargetIsOurs) {
  options_.sources = {Source(1)};
  planner_.emplace(options_, kSelf, 7);
  Arrive(1);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(next_, kNever);
  planner_->OnOpened(link_);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @1 s1"));
}

TEST_F(ReducePlanning, LateSourcesTakeTheLowestVacantSlot) {
  options_.degree = 2;
  Start(6);
  Arrive(5);
  Batch();
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @5 s5"));
  Arrive(2);
  EXPECT_THAT(Plan(), ElementsAre("2^4+2 @2 s2"));
  Arrive(6);
  Arrive(1);
  EXPECT_THAT(Plan(), ElementsAre("3^2+0 @6 s6", "4^0+2 @1 s1"));
  Arrive(2);  // told again
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(planner_->Missing(),
            "2 of 6 sources are missing: " + Source(3).ToHex() + ", " + Source(4).ToHex());
}

TEST_F(ReducePlanning, TheDegreeFollowsTheLinkModel) {
  link_.latency = milliseconds(10);
  layout_ = Layout::For(1024);
  Start(5);
  for (int i = 1; i <= 5; ++i) Arrive(i);
  EXPECT_THAT(Plan(), ::testing::Contains("2^0+4 @2 s2"));
}

// So the plans of several reductions over the same nodes load each link alike.
TEST_F(ReducePlanning, WhatIsThereAtTheStartStandsByDistanceFromTheCoordinatorItselfLast) {
  options_.degree = 1;
  Start(4);
  Tell(3, 999);
  Tell(1, 1000);
  Tell(4, 7);
  Tell(2, 1001);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1001 s2", "2^3+1 @7 s4", "3^4+1 @999 s3",
                                  "4^0+1 @self s1"));
}

TEST_F(ReducePlanning, OnlyTheFirstKOfNAreUsed) {
  options_.degree = 1;
  Start(5, 3);
  Arrive(4);
  Arrive(2);
  Arrive(5);
  Arrive(1);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @2 s2", "2^3+1 @4 s4", "3^0+1 @5 s5"));
  Arrive(3);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_THAT(planner_->Available(),
              ElementsAre(Source(4), Source(2), Source(5), Source(1), Source(3)));
  EXPECT_EQ(planner_->Missing(), "");
}

TEST_F(ReducePlanning, FourSourcesOnEachOfFourNodesAreFourSlots) {
  options_.degree = 2;
  Start(16);
  for (int i = 1; i <= 16; ++i) Tell(i, (i - 1) % 4 + 1);
  EXPECT_THAT(Plan(),
              ElementsAre("shape 1048576", "1^2+0 @1 s1 s5 s9 s13", "2^3+1 @2 s2 s6 s10 s14",
                          "3^0+2 @3 s3 s7 s11 s15", "4^3+0 @4 s4 s8 s12 s16"));
}

TEST_F(ReducePlanning, GroupsNeverGoBeyondK) {
  Start(4, 2);
  Tell(1, 1);
  Tell(2, 2);
  Tell(3, 1);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1", "2^0+1 @2 s2"));
}

TEST_F(ReducePlanning, ASourceJoinsTheNodeThatGivesAnotherOne) {
  Start(2);
  Tell(1, 1);
  Tell(2, 2);
  Tell(2, 1);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^0+0 @1 s1 s2"));
}

TEST_F(ReducePlanning, ANewerVersionOfAHolderReplacesTheOlderOne) {
  Start(1);
  Tell(1, 1, 5);
  Tell(1, 1, 8);
  Tell(1, 1, 6);
  Plan();
  EXPECT_EQ(orders_[1].inputs[0].version, (Version{{1, 8}}));
}

// --- the root on the coordinator's own node

TEST_F(ReducePlanning, TheRootFoldsWhatLiesHere) {
  options_.root_here = true;
  options_.degree = 1;
  Start(4);
  Tell(1, 1000);
  Arrive(2);
  Tell(3, 1000);
  Arrive(4);
  EXPECT_THAT(Plan(),
              ElementsAre("shape 1048576", "1^2+0 @2 s2", "2^3+1 @4 s4", "3^0+1 @self s1 s3"));
}

TEST_F(ReducePlanning, ARootWithoutSourcesIsAddedHere) {
  options_.root_here = true;
  options_.degree = 2;
  Start(3);
  Arrive(1);
  Batch();
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1", "4^0+1 @self"));
  Arrive(3);
  Tell(2, 1000);  // late: it joins the root, and 3 is not needed
  EXPECT_THAT(Plan(), ElementsAre("4^0+1 @self s2", "2^4+1 @3 s3"));
}

TEST_F(ReducePlanning, ARootHereStaysHere) {
  options_.root_here = true;
  options_.degree = 1;
  Start(3);
  Tell(1, 1000);
  Tell(2, 1000);
  Arrive(3);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @3 s3", "2^0+1 @self s1 s2"));
  Lose(2);
  EXPECT_THAT(Plan(), ElementsAre("2^0+3 @self"));
  Tell(2, 9);
  EXPECT_THAT(Plan(), ElementsAre("3^2+0 @9 s2"));
  Tell(1, 1000);
  EXPECT_THAT(Plan(), ElementsAre("4^2+0 @self s1"));
}

// --- a fixed order

TEST_F(ReducePlanning, AFixedOrderFollowsTheList) {
  options_.fixed_order = true;
  Start(4);
  Tell(3, 1);
  Batch();
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "3^4+1 @1 s3"));
  Tell(1, 1);
  Tell(4, 1);
  EXPECT_THAT(Plan(), ElementsAre("1^2+0 @1 s1", "4^0+1 @1 s4"));
  Lose(3);
  EXPECT_THAT(Plan(), ElementsAre("3^4+1 vacant"));
  Tell(2, 2);
  EXPECT_THAT(Plan(), ElementsAre("2^3+1 @2 s2"));
  Tell(3, 3);  // only itself takes its place
  EXPECT_THAT(Plan(), ElementsAre("3^4+1 @3 s3"));
}

TEST_F(ReducePlanning, AFixedOrderWithTheRootHere) {
  options_.fixed_order = options_.root_here = true;
  Start(2);
  Tell(1, 1);
  Tell(2, 1000);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @1 s1", "2^0+1 @self s2"));
  Lose(2);
  EXPECT_THAT(Plan(), ElementsAre("2^0+2 @self"));
  Tell(2, 2);
  EXPECT_THAT(Plan(), ElementsAre("3^2+0 @2 s2"));
}

TEST_F(ReducePlanning, AFixedOrderGetsARootHereAboveItsLine) {
  options_.fixed_order = options_.root_here = true;
  Start(2);
  Tell(1, 1000);
  Tell(2, 2);
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @self s1", "2^3+1 @2 s2", "3^0+1 @self"));
}

// --- random histories

// Whatever is told in whatever order: each source once, never more than k, a slot's children
// are those that it counts, one root; and at the end, when enough sources are there, all k are
// used.
class RandomReduce : public ReducePlanning {
 public:
  void Run(int seed);
  void CheckTree() {
    std::map<std::uint32_t, std::uint32_t> children;
    std::uint32_t roots = 0;
    std::size_t used = 0;
    for (const auto& [slot, order] : orders_) {
      ++children[order.root() ? 0 : order.parents.front()];
      if (order.root()) ++roots;
      used += order.inputs.size();
    }
    EXPECT_EQ(roots, 1U);
    for (const auto& [slot, order] : orders_) EXPECT_EQ(order.children, children[slot]);
    EXPECT_EQ(used, *options_.num_objects);
  }
  int ended_ = 0;  // the others found no node with memory
};

void RandomReduce::Run(int seed) {
  SCOPED_TRACE(seed);
  Forget();
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  const int count = 1 + below(12);
  options_.root_here = below(3) == 0;
  options_.fixed_order = below(4) == 0;
  options_.degree = options_.fixed_order ? 0 : static_cast<std::uint32_t>(below(4));
  const int nodes = 1 + below(6);
  Start(count, options_.fixed_order ? count : 1 + below(count));
  for (int step = 0; step < 60; ++step) {
    now_ += microseconds(below(300));
    const auto slot = static_cast<std::uint32_t>(1 + below(count + 1));
    const int node = below(8) == 0 ? 1000 : 1 + below(nodes);
    switch (below(5)) {
      case 0:
      case 1:
        Tell(1 + below(count), node, 1 + static_cast<std::uint64_t>(below(3)));
        break;
      case 2:
        planner_->OnHolderGone(Source(1 + below(count)), NodeId(node));
        break;
      case 3:
        Lose(slot, below(2) == 0   ? ErrorCode::kPeerLost
                   : below(3) == 0 ? ErrorCode::kResourceExhausted
                                   : ErrorCode::kNotFound);
        break;
      default:
        Plan();
    }
  }
  for (int source = 1; source <= count; ++source) Tell(source, 500 + source);
  Plan();
  now_ += seconds(2);
  Plan();
  if (planner_->failure()) {
    EXPECT_EQ(planner_->failure()->code, ErrorCode::kResourceExhausted);
    return;
  }
  ++ended_;
  CheckTree();
  if (options_.root_here) {
    const auto root =
        std::ranges::find_if(orders_, [](const auto& order) { return order.second.root(); });
    EXPECT_EQ(root->second.node, kSelf);
  }
  if (options_.fixed_order) {
    for (const auto& [slot, order] : orders_) {
      if (order.inputs.empty() || slot > static_cast<std::uint32_t>(count)) continue;
      EXPECT_EQ(order.inputs[0].object, Source(static_cast<int>(slot)));
    }
  }
}

TEST_F(RandomReduce, EndsWithKSourcesInOneTree) {
  for (int seed = 0; seed < 1000 && !HasFailure(); ++seed) Run(seed);
  EXPECT_GT(ended_, 800);
}

// --- repeated

TEST_F(ReducePlanning, OrdersAreRepeatedAsTheyWere) {
  options_.degree = 2;
  options_.metadata = "of the target";
  Start(5, 4);
  EXPECT_THAT(planner_->Orders(), IsEmpty());
  for (int i = 1; i <= 3; ++i) Arrive(i);
  Batch();
  Plan();
  Arrive(4);
  Plan();
  Lose(2);
  Plan();
  std::map<std::uint32_t, SlotOrder> repeated;
  const std::vector<NodeEvent> orders = planner_->Orders();
  const auto& shape = std::get<ReduceShape>(orders.at(0));
  EXPECT_EQ(shape.layout, layout_);
  EXPECT_EQ(shape.metadata, protocol::WithElements(DType::kFloat32, "of the target"));
  for (std::size_t i = 1; i < orders.size(); ++i) {
    const auto& said = std::get<ReduceOrders>(orders[i]);
    ASSERT_EQ(said.plan, 0U);
    const PlannedOrder& planned = said.orders.front();
    EXPECT_EQ(planned.attempt, attempts_[planned.order.slot]);
    repeated[planned.order.slot] = planned.order;
  }
  EXPECT_EQ(repeated, orders_);
}

TEST_F(ReducePlanning, TheMetadataIsThatOfTheFirstListedSourceWhichWasKnown) {
  Start(3, 2);
  planner_->OnHolder(Source(3), NodeId(3), {{1, 1}}, layout_, "third", now_);
  planner_->OnHolder(Source(2), NodeId(2), {{1, 1}}, layout_, "second", now_);
  EXPECT_EQ(protocol::UsersPart(planner_->metadata()), "second");
  Plan();
  planner_->OnHolder(Source(1), NodeId(1), {{1, 1}}, layout_, "first", now_);
  EXPECT_EQ(protocol::UsersPart(planner_->metadata()), "second");
}

TEST(ReduceTarget, HasItsOwnNameAndNoSources) {
  const ObjectId sum = ObjectId::FromName("sum");
  const Fold fold{.dtype = DType::kInt32};
  const std::string source =
      protocol::WithName("source", protocol::WithElements({}, "of the source"));
  for (const char* asked : {"", "asked"}) {
    const std::string target = TargetMetadata(fold, protocol::WithName("sum", asked), source);
    EXPECT_EQ(protocol::NameIn(target, sum), "sum");
    EXPECT_EQ(protocol::ElementsIn(target), DType::kInt32);
    EXPECT_EQ(protocol::UsersPart(target), *asked == 0 ? "of the source" : "asked");
  }
  EXPECT_EQ(protocol::ToldName(TargetMetadata(fold, "", source)), "");
}

TEST_F(ReducePlanning, SlotsAreNumberedSiteBySiteTheCoordinatorsLast) {
  layout_ = Layout::For(64 << 20);  // in a line
  Start(5);
  planner_->OnSite(kSelf, "east");
  for (int node = 1; node <= 5; ++node) planner_->OnSite(NodeId(node), node % 2 ? "west" : "east");
  planner_->OnSite(NodeId(3), "north");
  for (int source = 1; source <= 5; ++source) Arrive(source);
  EXPECT_THAT(Plan(), ElementsAre("shape 67108864", "1^2+0 @3 s3", "2^3+1 @1 s1", "3^4+1 @5 s5",
                                  "4^5+1 @2 s2", "5^0+1 @4 s4"));
}

TEST_F(ReducePlanning, BytesInTheDirectoryCountAsAvailableButTakeNoSlot) {
  Start(2);
  Tell(1, 0);
  Tell(2, 2);
  Batch();
  EXPECT_THAT(planner_->Available(), ElementsAre(Source(1), Source(2)));
  EXPECT_THAT(Plan(), ElementsAre("shape 1048576", "1^2+0 @2 s2"));
}

TEST_F(ReducePlanning, ManyMissingSourcesAreCountedNotListed) {
  Start(20, 15);
  Arrive(1);
  EXPECT_THAT(planner_->Missing(), HasSubstr("19 of 20 sources are missing (15 are needed): "));
  EXPECT_THAT(planner_->Missing(), HasSubstr(" and 11 more"));
}

// --- the request

TEST(ReduceRequest, MistakesAreNamed) {
  const auto id = [](const char* name) { return ObjectId::FromName(name); };
  ReduceOptions good;
  good.dtype = DType::kFloat32;
  good.sources = {id("a"), id("b")};
  good.target = id("t");
  EXPECT_TRUE(CheckReduceOptions(good));
  const auto message = [&](auto change) {
    ReduceOptions options = good;
    change(options);
    const Result<void> checked = CheckReduceOptions(options);
    EXPECT_FALSE(checked);
    if (checked) return std::string();
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    return checked.error().message;
  };
  EXPECT_THAT(message([](auto& o) { o.sources.clear(); }), HasSubstr("at least one source"));
  EXPECT_THAT(message([&](auto& o) { o.sources.push_back(id("a")); }),
              HasSubstr(id("a").ToHex() + " is listed twice"));
  EXPECT_THAT(message([&](auto& o) { o.sources.push_back(id("t")); }),
              HasSubstr("the target " + id("t").ToHex() + " is among the sources"));
  EXPECT_THAT(message([](auto& o) { o.sources.emplace_back(); }), HasSubstr("all zero"));
  EXPECT_THAT(message([](auto& o) { o.num_objects = 0; }), HasSubstr("num_objects is 0"));
  EXPECT_THAT(message([](auto& o) { o.num_objects = 3; }),
              HasSubstr("num_objects is 3, but there are 2 sources"));
  EXPECT_THAT(message([](auto& o) { o.op = Op::kXor; }), HasSubstr("xor"));
  EXPECT_THAT(message([](auto& o) { o.op = Op{9}, o.dtype = {}; }), HasSubstr("9 is not"));
  EXPECT_THAT(message([](auto& o) { o.folded_bytes = 8, o.dtype = {}; }), HasSubstr("dtype"));
  EXPECT_THAT(message([](auto& o) { o.folded_bytes = 6; }),
              HasSubstr("folded_bytes is 6, no multiple of the 4 of float32"));
  EXPECT_THAT(message([](auto& o) { o.dtype = static_cast<DType>(99); }), HasSubstr("type"));
  EXPECT_THAT(message([](auto& o) {
                o.fixed_order = true;
                o.num_objects = 1;
              }),
              HasSubstr("needs all 2 sources, num_objects is 1"));
  EXPECT_THAT(message([](auto& o) {
                o.fixed_order = true;
                o.degree = 2;
              }),
              HasSubstr("degree 2"));
  EXPECT_THAT(message([](auto& o) { o.metadata = std::string(5000, 'm'); }), HasSubstr("5000"));
  EXPECT_THAT(message([](auto& o) {
                for (std::size_t i = 0; i <= kMaxReduceSources; ++i) {
                  o.sources.push_back(ObjectId::FromName(std::to_string(i)));
                }
              }),
              HasSubstr("16384 is the limit"));
}

}  // namespace
}  // namespace hoplite::planner
