// Any word in any order about a version that several members make together leaves the invariants
// whole, and whoever gets something in one pass from one source gets it as one stream.
#include <random>
#include <set>
#include <tuple>

#include "planner/shard/recovery.h"
#include "planner/shard/reduction_orders.h"
#include "planner/shard/reduction_requests.h"
#include "planner/shard/visits.h"
#include "roots.h"

namespace hoplite::planner {
namespace {

constexpr std::uint64_t kStormNodes = 6;

class RootsStorm : public Roots {
 protected:
  void Begin(std::uint32_t seed) {
    random_.seed(seed);
    books_.options.keep_apart = std::chrono::milliseconds(10);
    for (std::uint64_t each = 1; each <= kStormNodes; ++each) Rejoin(Node(each));
    Restart();
  }
  // Empty, or the first broken invariant.
  std::string Step() {
    Something(Node(1 + Pick(kStormNodes)));
    if (std::string broken = BrokenInvariant(books_); !broken.empty()) return broken;
    return Pick(3) == 0 ? std::string() : PassOnce();
  }
  std::size_t granted() const { return granted_; }
  std::size_t united() const { return united_; }

 private:
  std::uint64_t Pick(std::uint64_t n) { return random_() % n; }

  // Another version, cut some other way, of which anybody may make something.
  void Restart() {
    members_ = static_cast<std::uint32_t>(1 + Pick(4));
    std::vector<StripeGroup> cut;
    StripeMask left = layout_.all_stripes();
    for (std::uint32_t each = 1; each <= members_; ++each) {
      const StripeMask some = each == members_ ? left : left & (random_() | 1ULL << each);
      if (some == 0) continue;
      cut.push_back({some, Node(each)});
      left &= ~some;
    }
    ObjectRecord& object = books_.objects.Touch(id_, Node(1));
    versions_.Start(id_, object, books_.stamps.NextVersion(), layout_, "", StripeGroups(cut));
    object.joint = Pick(2) == 0;
    for (const StripeGroup& group : cut) {
      if (books_.nodes.Find(group.origin) == nullptr) continue;
      books_.objects.Touch(id_, group.origin);
      table().Add(group.origin);
      table().Edit(group.origin, [&](Copy& copy) {
        copy.listed = copy.primary = true;
        copy.produces = group.stripes;
        copy.live = books_.nodes.alive(group.origin);
        copy.slot = 1;
        copy.order = books_.stamps.NextRequest();
      });
    }
    grants_.clear();
  }

  StripeMarks Marks() {
    StripeMarks marks = layout_.empty_marks();
    const auto about = static_cast<std::uint32_t>(Pick(4));
    for (std::uint32_t& mark : marks) {
      mark = std::min<std::uint32_t>(about + static_cast<std::uint32_t>(Pick(2)),
                                     layout_.stripe_block_count(kStripes - 1));
    }
    return marks;
  }
  Held ACopy() {
    Held held{id_, record().version, layout_, "", Marks()};
    held.complete = Pick(5) == 0;
    if (!held.complete && Pick(2) == 0) held.produces = random_() & layout_.all_stripes();
    if (!held.complete && Pick(2) == 0) {
      const GrantId grant = grants_.empty() ? GrantId{} : grants_.back();
      held.upstreams = {{Node(1 + Pick(kStormNodes)), grant, random_() & layout_.all_stripes()}};
    }
    return held;
  }
  void Rejoin(NodeId node) {
    books_.nodes.Join({node, ToString(node), "x:1"}, books_.clock.now());
    books_.nodes.EndInventory(node);
  }
  void Something(NodeId node) {
    const Version version = record().version;
    if (!books_.nodes.alive(node)) {
      Rejoin(node);
      if (Pick(2) == 0) recovery_.On(node, ACopy());
      recovery_.On(node, InventoryEnd{});
      return Sweep();
    }
    switch (Pick(24)) {
      case 0:
        return Pick(8) == 0 ? Restart() : transfers_.On(node, CancelWant{id_, version});
      case 1:
        return transfers_.On(node, CopyComplete{id_, version});
      case 2:
        return transfers_.On(node, CopyGone{id_, version});
      case 3:
        return recovery_.On(node, ACopy());
      case 4:
        books_.nodes.Suspend(node);
        books_.sweeps.Add(node, Change::kSuspended, books_.objects.TakeSpokenOf(node));
        return Sweep();
      case 5:
        books_.nodes.Erase(node);
        books_.sweeps.Add(node, Change::kLost, books_.objects.TakeSpokenOf(node));
        return Sweep();
      case 6:
      case 7:
      case 8:
        return transfers_.On(node, protocol::Progress{id_, version, Marks(), 1'000'000,
                                                      std::chrono::seconds(Pick(3))});
      case 9:
      case 10:
      case 11:
      case 12:
        if (grants_.empty()) return;
        return transfers_.On(node, GrantClosed{id_, version, grants_[Pick(grants_.size())],
                                               static_cast<Outcome>(1 + Pick(4)),
                                               static_cast<Failure>(Pick(7)), Marks()});
      default:
        return transfers_.On(
            node, protocol::Want{id_, version, Pick(2) == 0 ? Marks() : layout_.empty_marks(),
                                 Pick(6) == 0, Pick(2) == 0});
    }
  }
  void Sweep() {
    if (!books_.sweeps.Has(id_)) return;
    for (const Visit& visit : books_.sweeps.Take(id_)) visits_.Pay(visit, id_);
    if (books_.objects.Find(id_) == nullptr) Restart();
    books_.nodes.ForgetDeparted();
  }
  std::string PassOnce() {
    books_.clock.Advance(books_.clock.now() + std::chrono::milliseconds(Pick(30)));
    books_.apart.Expire(books_.clock.now());
    passes_.Run(id_, record());
    std::set<std::tuple<NodeId, NodeId, GrantId, bool>> streams;
    for (const Action& action : books_.outbox.Take()) {
      const auto* grant = std::get_if<Grant>(&action.body);
      if (grant == nullptr) continue;
      ++granted_;
      grants_.push_back(grant->grant);
      if (!table().grants().contains(grant->grant)) continue;  // it was replaced in the same pass
      united_ += GroupsOf(grant->stripes) > 1 ? 1U : 0U;
      const bool alone =
          streams.insert({action.to, grant->source.id, grant->replaces, grant->equality_ok}).second;
      if (!alone) return "a receiver is granted two streams of one source";
      if (table().grants().at(grant->grant).stripes != grant->stripes) {
        return "a receiver is told of other stripes than the books have";
      }
    }
    return BrokenInvariant(books_);
  }
  std::size_t GroupsOf(StripeMask stripes) {
    std::size_t groups = 0;
    table().ForGroups(stripes, [&](std::size_t, StripeMask) { ++groups; });
    return groups;
  }

  std::mt19937_64 random_;
  std::vector<GrantId> grants_;
  std::size_t granted_ = 0;
  std::size_t united_ = 0;
  ReductionOrders orders_{books_.options, books_.clock, books_.stamps, books_.nodes, books_.objects,
                          books_.apart,   books_.pairs, post_,         versions_};
  ShardFolds folds_{books_.clock,       books_.stamps, books_.nodes, books_.objects,
                    books_.inline_pace, post_,         versions_,    ownership_};
  ReductionRequests requests_{books_.options, books_.clock,      books_.window, books_.nodes,
                              books_.objects, books_.tombstones, books_.ended,  books_.agenda,
                              post_,          versions_,         orders_,       ownership_,
                              folds_};
  Recovery recovery_{books_.options, books_.clock,      books_.stamps, books_.nodes,
                     books_.objects, books_.tombstones, books_.sweeps, books_.registers,
                     post_,          versions_,         requests_,     ownership_};
  Visits visits_{books_.objects, books_.agenda, books_.outbox, versions_, requests_, ownership_};
};

TEST_F(RootsStorm, InvariantsHoldWhateverIsSaid) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    Begin(seed);
    for (int step = 0; step < 300; ++step) {
      ASSERT_EQ(Step(), "") << "seed " << seed << ", step " << step;
    }
  }
  EXPECT_GT(granted(), 10'000U);
  EXPECT_GT(united(), 1'000U);  // the random words do lead to streams of several groups
}

}  // namespace
}  // namespace hoplite::planner
