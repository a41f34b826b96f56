// What the invariants notice: the books of a shard, sound at first, with one thing made wrong.
#include <cstdint>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/books/books.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;
using ::testing::StartsWith;

constexpr NodeId kHolder{1};
constexpr NodeId kRelay{2};  // pulls from the holder, and feeds the next
constexpr NodeId kLast{3};
constexpr GrantId kWrongGrant{{1, 1}};
constexpr GrantId kFirstGrant{{1, 2}};
constexpr GrantId kSecondGrant{{1, 3}};
constexpr StripeMask kStripe = 1;

class Invariants : public ::testing::Test {
 public:
  Invariants() {
    for (const NodeId node : {kHolder, kRelay, kLast}) {
      books_.nodes.Join({node, ToString(node), "x:1"}, Time{});
      books_.objects.Touch(id_, node);
    }
    record().version = books_.stamps.NextVersion();
    table() = CopyTable(Layout::For(1 << 20, 1));
    for (const NodeId node : {kHolder, kRelay, kLast}) Ask(node);
    Edit(kHolder, [](Copy& copy) { copy.complete = copy.listed = true; });
    Grant(kFirstGrant, kRelay, kHolder);
    Grant(kSecondGrant, kLast, kRelay);
  }

  ObjectRecord& record() { return *books_.objects.Find(id_); }
  CopyTable& table() { return record().table; }
  template <typename Change>
  void Edit(NodeId node, Change change) {
    table().Edit(node, change);
  }
  void Ask(NodeId node) {
    table().Add(node);
    Edit(node, [&](Copy& copy) { copy.order = books_.stamps.NextRequest(); });
  }
  void Grant(GrantId grant, NodeId receiver, NodeId source) {
    table().Open(grant, {.receiver = receiver, .source = source, .stripes = kStripe}, Time{}, 1);
  }
  void ExpectBroken(const std::string& number) {
    EXPECT_THAT(BrokenInvariant(books_), StartsWith(number + ":"));
  }

 protected:
  const ObjectId id_ = ObjectId::FromName("it");
  Books books_{DirectoryOptions{}, Time{}};
};

TEST_F(Invariants, HoldInSoundBooks) { EXPECT_EQ(BrokenInvariant(books_), ""); }

TEST_F(Invariants, ASourceThatServesTooMany) {
  Grant(kWrongGrant, kLast, kHolder);
  Edit(kHolder, [](Copy& copy) { copy.flows->places.Make(0).limit = 0; });
  ExpectBroken("P1");
}

TEST_F(Invariants, ACircle) {
  table().Close(kFirstGrant);
  Grant(kWrongGrant, kRelay, kLast);
  ExpectBroken("P2");
}

TEST_F(Invariants, AMarkBeyondTheEnd) {
  Edit(kRelay, [&](Copy& copy) { copy.marks[0] = table().layout().stripe_block_count(0) + 1; });
  ExpectBroken("P3");
}

TEST_F(Invariants, ASourceWithoutSession) {
  books_.nodes.Suspend(kHolder);
  ExpectBroken("P4");
}

TEST_F(Invariants, ACopyOfALostNode) {
  books_.nodes.Erase(kHolder);
  ExpectBroken("P4");
}

TEST_F(Invariants, ACopyOfADeletedObject) {
  books_.tombstones.Insert(id_, {record().version}, Time{} + seconds(60), Time{});
  ExpectBroken("P5");
}

TEST_F(Invariants, ASlotOfACommittedTarget) {
  ReductionRecord& reduction = record().reduction.Make();
  reduction.coordinator = kHolder;
  reduction.committed = record().version;
  reduction.tree.Place({.slot = 1, .node = kHolder}, 1);
  ExpectBroken("P7");
}

TEST_F(Invariants, AWaiterWithoutSession) {
  record().waits.Make().locates.insert({NodeId{9}});
  ExpectBroken("P8");
}

TEST_F(Invariants, BytesThatNobodyCounted) {
  record().inline_bytes = std::make_shared<const std::string>("bytes");
  ExpectBroken("P8");
}

TEST_F(Invariants, MetadataThatNobodyCounted) {
  record().metadata = std::string("metadata");
  ExpectBroken("P8");
}

TEST_F(Invariants, AReductionWithoutCoordinator) {
  record().reduction.Make().coordinator = NodeId{9};
  ExpectBroken("P10");
}

TEST_F(Invariants, AStripeThatIsGrantedTwice) {
  Grant(kWrongGrant, kLast, kHolder);
  ExpectBroken("S1");
}

TEST_F(Invariants, AGrantToALeafThatIsListed) {
  Edit(kLast, [](Copy& copy) { copy.leaf = true; });
  ExpectBroken("S5");
}

TEST_F(Invariants, AReceiverThatIsNotListed) {
  Edit(kLast, [](Copy& copy) { copy.listed = false; });
  ExpectBroken("S3");
}

TEST_F(Invariants, ACopyThatItsNodeDoesNotKnow) {
  books_.objects.TakeSpokenOf(kLast);
  ExpectBroken("S4");
}

TEST_F(Invariants, AHolderThatNeverAsked) {
  Edit(kLast, [](Copy& copy) { copy.order = 0; });
  ExpectBroken("S5");
}

TEST_F(Invariants, AVersionOfTheFuture) {
  record().version.incarnation = books_.stamps.incarnation() + 1;
  ExpectBroken("S6");
}

}  // namespace
}  // namespace hoplite::planner
