// Suspend, lose, come back, and a shard that starts again (R13-R15).
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Sessions : public Scenario {};

TEST_F(Sessions, ASuspendedNodeGetsNoGrantsAndKeepsItsOwn) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Suspend("R1").Ignore();
  Get("R2");  // S is busy, R1 is suspended
  Expect("R2: located v1");
  EXPECT_EQ(
      state_->Find(object_)->waiters[0].why,
      "every holder serves another node, and the first to end that is its source: S serves R1; "
      "R1, which has it, does not answer");
  Connect("R1").HeldBy("R1", 10, "S").Want("R1", 10).EndInventory("R1");
  Expect("R2 <- R1 strict");  // its inventory is not over
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 2U);
}

TEST_F(Sessions, WhoWaitsForAHolderThatIsAwayIsShownWithIt) {
  Join("S").Join("R").Put("S").Suspend("S").Get("R").Ignore();
  EXPECT_EQ(state_->Find(object_)->waiters.at(0).why, "S, which has it, does not answer");
}

TEST_F(Sessions, APutThatWaitsForAHolderThatIsAwayIsShownWithIt) {
  Join("S").Join("R").Put("S").Suspend("S").Create("R").Ignore();
  EXPECT_EQ(
      state_->Find(object_)->waiters.at(0).why,
      "a put of it waits, since S, which has it, does not answer: until that node is back, or "
      "the directory gives it up");
  Get("R").Ignore();  // waits for the same
  EXPECT_EQ(state_->Find(object_)->waiters.size(), 1U);
}

// However many holders there are, and however long their names.
TEST_F(Sessions, WhyAWaiterIsNotServedHasABound) {
  const std::string name(250, 'S');
  Join("R").Join(name + "0").Put(name + "0");
  for (int i = 1; i < 200; ++i) {
    const std::string holder = name + std::to_string(i);
    Join(holder).Get(holder).Done(holder);
  }
  for (int i = 0; i < 200; ++i) Suspend(name + std::to_string(i));
  Get("R").Ignore();
  const std::string why = state_->Find(object_)->waiters.at(0).why;
  EXPECT_THAT(why,
              ::testing::HasSubstr(" and 46 more, which have it, do not answer; 150 more holders"));
  EXPECT_LT(why.size(), 1200);
}

TEST_F(Sessions, AGrantThatTheReturnedNodeNeverHeardOfIsGivenAgain) {
  Join("S").Join("R1").Put("S").Get("R1").Suspend("R1").Ignore();
  Connect("R1").HeldBy("R1", 0).Want("R1").EndInventory("R1");
  Expect("R1 <- S strict");
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 1U);
}

TEST_F(Sessions, ACompletionThatWasLostOnTheWayIsInTheInventory) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Suspend("R1").Ignore();
  Connect("R1").HeldComplete("R1").EndInventory("R1");
  EXPECT_TRUE(state_->Find(object_)->transfers.empty());
  Get("R2");
  Expect("R2: located v1", "R2 <- S");
}

TEST_F(Sessions, ACopyThatIsNotRepeatedIsGone) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Done("R1").Get("R2").Ignore();
  Suspend("S").Join("S");  // an empty inventory
  Expect("R2 <- R1 moved");
  EXPECT_EQ(state_->Find(object_)->holders.size(), 2U);
}

TEST_F(Sessions, ARequestOfAnEndedSessionIsNotAnsweredTwice) {
  Join("S").Join("R1").Locate("R1").Suspend("R1").Put("S");
  Connect("R1").Locate("R1").EndInventory("R1");
  Expect("S: accepted v1", "R1: located v1");
}

TEST_F(Sessions, AnswersQueuedForAnEndedSessionAreDropped) {
  Join("S").JointGets().Create("S").Now().Ignore();
  Join("R1").JointGets().Locate("R1").Suspend("R1").Now();
  Expect();
}

TEST_F(Sessions, ACreateWhoseAnswerWasLostIsANewVersion) {
  Join("S").Create("S").Suspend("S");
  Connect("S").Create("S").EndInventory("S");
  Expect("S: accepted v1", "S: accepted v2");
}

TEST_F(Sessions, ALostNodeComesBackAsAStranger) {
  Join("S").Join("R1").Put("S").Lose("S").Locate("R1").Ignore();
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect("R1: located v1");
}

TEST_F(Sessions, ANewcomerWithTheSameNameReplacesTheOldNode) {
  Join("S").Join("R1").Put("S").Ignore();
  Suspend("S");
  state_->Apply({now_, NodeJoined{{NodeId{99}, "S", "other:1"}, 0}});
  Expect();
  EXPECT_EQ(state_->Nodes(now_).size(), 2U);
  EXPECT_FALSE(state_->Find(object_)->holders.size() > 0);
  state_->Apply({now_, NodeLost{NodeId{99}}});
}

TEST_F(Sessions, WaitersHearWhoTookTheLastCopyAlong) {
  Join("S").Join("R1").Join("R2").Put("S").Get("R1").Lose("S");
  Expect("S: accepted v1", "R1: located v1", "R1 <- S", "R1: lost S");
  Locate("R2");
  Expect("R2: lost S");
  Join("T").Put("T");  // put again
  Expect("R1: recall v2", "T: accepted v2", "R2: located v2");
}

TEST_F(Sessions, EventsOfStrangersAreIgnored) {
  Create("S").Locate("R1").Suspend("S").Lose("S");
  Expect();
  EXPECT_TRUE(state_->Objects().empty());
}

class Inventories : public Scenario {};

TEST_F(Inventories, CreatesAndEvictionsWaitForTheEndOfCollecting) {
  Restart(Recovering()).Join("S").Create("S");
  Expect();
  EXPECT_TRUE(state_->collecting());
  EXPECT_EQ(next_, now_ + seconds(1));
  After(seconds(1));
  Expect("S: accepted v1");
  EXPECT_FALSE(state_->collecting());
}

TEST_F(Inventories, ACopyThatSurvivedRefusesThePutThatWaited) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Join("T").Create("T");
  Connect("S").HeldComplete("S").EndInventory("S").After(seconds(1));
  Expect("T: refused already_exists");
}

TEST_F(Inventories, IncarnationsGrowBeyondWhatAnyNodeHasSeen) {
  Join("S").Put("S").Ignore();
  const Version before = VersionAt("S");
  DirectoryOptions forgot = Recovering();
  forgot.incarnation = 1;
  Restart(forgot).Join("S").After(seconds(1)).Create("S");
  Expect("S: accepted v2");
  EXPECT_GT(VersionAt("S").incarnation, before.incarnation);
}

TEST_F(Inventories, StreamsGoOnAndTheirEndIsUnderstood) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Ignore();
  // The receiver may come back before its source.
  Restart(Recovering()).Connect("R1").HeldBy("R1", 10, "S").Want("R1", 10).EndInventory("R1");
  Connect("S").HeldComplete("S").EndInventory("S").After(seconds(1));
  Expect();  // R1 is being served
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 1U);
  Join("R2").Get("R2");
  Expect("R2: located v1", "R2 <- R1");  // S is busy with R1
  Done("R1");                            // closes a grant of the predecessor
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 1U);
}

// R15. The end of one stream says nothing about the stripes of the other.
TEST_F(Inventories, StripesThatComeFromSeveralSourcesAreTakenOverEachFromItsOwn) {
  layout_ = Layout::For(1 << 20, 4);
  for (const char* node : {"S", "T", "R1"}) Join(node);
  Put("S").Get("T").Done("T").Get("R1").Ignore();
  const GrantId low{{1, 90}};
  const GrantId high{{1, 91}};
  Held held{object_, VersionAt("R1"), layout_, "", StripeMarks{2, 2, 2, 2}};
  held.upstreams = {{Id("S"), low, 0b0011}, {Id("T"), high, 0b1100}};
  Restart(Recovering()).Connect("R1").Say("R1", held).EndInventory("R1");
  for (const char* node : {"S", "T"}) Connect(node).HeldComplete(node).EndInventory(node);
  After(seconds(1));
  Expect();
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 2U);
  Say("R1", GrantClosed{object_, VersionAt("R1"), low, Outcome::kDone, Failure::kNone,
                        StripeMarks{16, 16, 3, 3}});
  ASSERT_EQ(state_->Find(object_)->transfers.size(), 1U);
  EXPECT_EQ(state_->Find(object_)->transfers[0].from_name, "T");
  Say("R1", GrantClosed{object_, VersionAt("R1"), high, Outcome::kFailed, Failure::kBroken,
                        StripeMarks{16, 16, 4, 4}});
  Expect("R1 <- S {12}");
}

TEST_F(Inventories, StripesThatNoStreamOfTheReceiverBringsAreGranted) {
  layout_ = Layout::For(1 << 20, 4);
  for (const char* node : {"S", "R1"}) Join(node);
  Put("S").Get("R1").Ignore();
  Held held{object_, VersionAt("R1"), layout_, "", StripeMarks{2, 2, 2, 2}};
  held.upstreams = {{Id("S"), NewestGrant("R1"), 0b0011}};
  Restart(Recovering()).Connect("R1").Say("R1", held).EndInventory("R1");
  Connect("S").HeldComplete("S");
  Expect("R1 <- S {12} strict");
}

// R15. R1 was moved from one grant of S to another, and names the first. When that ends, the books
// have no grant left.
TEST_F(Inventories, AGrantThatTheReceiverDoesNotNameIsClosedThoughItNamesItsSource) {
  layout_ = Layout::For(1 << 20, 4);
  for (const char* node : {"S", "R1"}) Join(node);
  Put("S").Get("R1").Ignore();
  Held held{object_, VersionAt("R1"), layout_, "", StripeMarks{2, 2, 2, 2}};
  const GrantId before{{1, 90}};
  held.upstreams = {{Id("S"), before, layout_.all_stripes()}};
  Suspend("R1").Connect("R1").Say("R1", held).EndInventory("R1");
  Expect();
  Say("R1", GrantClosed{object_, VersionAt("R1"), before, Outcome::kAbandoned, Failure::kNone,
                        held.marks});
  EXPECT_TRUE(state_->Find(object_)->transfers.empty());
  Want("R1", 2);
  Expect("R1 <- S");
}

// R15. A grant that waits for another stream is named without the stripes of that stream.
TEST_F(Inventories, OfANamedGrantTheBooksKeepTheStripesThatAreNamed) {
  layout_ = Layout::For(1 << 20, 4);
  for (const char* node : {"S", "R1"}) Join(node);
  Put("S").Get("R1").Ignore();
  Held held{object_, VersionAt("R1"), layout_, "", StripeMarks{2, 2, 2, 2}};
  const GrantId before{{1, 90}};
  const GrantId after = NewestGrant("R1");
  held.upstreams = {{Id("S"), before, 0b0001}, {Id("S"), after, 0b1110}};
  Suspend("R1").Connect("R1").Say("R1", held).EndInventory("R1");
  Say("R1", GrantClosed{object_, VersionAt("R1"), before, Outcome::kAbandoned, Failure::kNone,
                        held.marks});
  Want("R1", 2);
  Expect("R1 <- S {1}");
  Say("R1", GrantClosed{object_, VersionAt("R1"), after, Outcome::kDone, Failure::kNone,
                        StripeMarks{2, 16, 16, 16}});
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 1U);
}

// A stream brings the end of a stripe whose bytes have all come, too.
TEST_F(Inventories, AStripeThatIsFullComesFromItsSourceUntilTheStreamEnds) {
  layout_ = Layout::For(1 << 20, 4);
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R2").Get("R1").Ignore();
  Held held{object_, VersionAt("R1"), layout_, "", StripeMarks{16, 2, 2, 2}};
  held.upstreams = {{Id("R2"), NewestGrant("R1"), layout_.all_stripes()}};
  Restart(Recovering()).Connect("R1").Say("R1", held).EndInventory("R1").After(seconds(1));
  Connect("R2").HeldBy("R2", 16).Want("R2", 16).EndInventory("R2");
  ExpectNotAmong("R2 <- R1 {1}");
  EXPECT_EQ(state_->Find(object_)->transfers.size(), 1U);
}

TEST_F(Inventories, WhileCollectingOnlySourcesThatAreStrictlyAheadAreGranted) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Locate("R2").Ignore();
  Restart(Recovering()).Connect("R1").HeldBy("R1", 0, "S").Want("R1").EndInventory("R1");
  Join("R2").Want("R2");
  Expect();  // R1 may have nothing
  Progress("R1", 1);
  Expect("R2 <- R1 strict");
}

TEST_F(Inventories, EqualityWaitsUntilEveryUpstreamIsKnown) {
  for (const char* node : {"S", "R1", "R2"}) Join(node);
  Put("S").Get("R1").Locate("R2").Ignore();
  Restart(Recovering()).Connect("R1").HeldBy("R1", 0, "S").Want("R1").EndInventory("R1");
  Join("R2").Want("R2").After(seconds(1));
  Expect();  // S might pull from R2, for all that is known
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect("R2 <- R1");
}

// R1 was sent to S instead of R2, and then R2 to R1; R1 never heard of it.
TEST_F(Inventories, WhoClosesACircleIsSentToAnotherSource) {
  Join("S").Put("S").Join("R1").Join("R2").Get("R1").Get("R2").Ignore();
  Restart(Recovering()).Connect("S").HeldComplete("S").EndInventory("S");
  Connect("R2").HeldBy("R2", 0, "R1").EndInventory("R2");
  Connect("R1").HeldBy("R1", 0, "R2").EndInventory("R1").Now();
  Expect("R1 <- S strict moved");
  Done("R1").Done("R2");
  Expect();
}

TEST_F(Inventories, AnUnknownVersionWaitsForItsInventory) {
  Join("S").Join("R1").Put("S").Locate("R1").Ignore();
  Restart(Recovering()).Join("R1").Want("R1");
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect();
  After(seconds(1));
  Expect("R1 <- S");
}

// What it asked for while the shard collected, and gave up again, is no request any more.
TEST_F(Inventories, AWantThatWasTakenBackIsNotRemembered) {
  Join("S").Join("R1").Put("S").Locate("R1").Ignore();
  Restart(Recovering()).Join("R1").Want("R1").CancelWant("R1");
  Connect("S").HeldComplete("S").EndInventory("S").After(seconds(1));
  Expect();
  EXPECT_EQ(state_->Find(object_)->holders.size(), 1U);
}

TEST_F(Inventories, AnOldCopyIsRecalledInAnyOrder) {
  Join("S").Join("T").Put("S").Lose("S").Put("T").Ignore();
  Restart(Recovering()).Connect("S").HeldComplete("S").EndInventory("S");
  Connect("T").HeldComplete("T").EndInventory("T");
  Expect("S: recall v2");
  Restart(Recovering()).Connect("T").HeldComplete("T").EndInventory("T");
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect("S: recall v2");
}

// Who announced itself and still tells what it holds is waited for (R15).
TEST_F(Inventories, AShardCollectsWhileANodeTellsItsInventory) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Join("T").Create("T");
  Connect("S");
  for (int i = 0; i < 5; ++i) After(milliseconds(900)).Say("S", StoreUsage{});
  Expect();
  HeldComplete("S").EndInventory("S");
  Expect("T: refused already_exists");
}

TEST_F(Inventories, ANodeThatTellsNothingMoreIsNotWaitedFor) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Join("T").Create("T");
  After(milliseconds(900)).Connect("S").After(milliseconds(999));
  Expect();
  After(milliseconds(1));
  Expect("T: accepted v2");
}

// Its session may come back and go on.
TEST_F(Inventories, NorIsOneWhoseSessionEndedAWhileAgo) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Join("T").Create("T");
  After(milliseconds(500)).Connect("S").After(milliseconds(200)).Suspend("S");
  After(milliseconds(799));
  Expect();
  After(milliseconds(1));
  Expect("T: accepted v2");
}

TEST_F(Inventories, TheLimitEndsItInAnyCase) {
  Join("S").Put("S").Ignore();
  DirectoryOptions options = Recovering();
  options.recovery_limit = seconds(3);
  Restart(options).Join("T").Create("T").Connect("S");
  for (int i = 0; i < 5; ++i) After(milliseconds(500)).Say("S", StoreUsage{});
  Expect();
  After(milliseconds(500));
  Expect("T: accepted v2");
}

TEST_F(Inventories, InlineBytesAreRepeatedByTheirPutter) {
  Join("S").Join("R1").PutInline("S", 100).Ignore();
  Held held{object_, VersionAt("S"), Layout::For(100), "", Layout::For(100).full_marks(), true};
  const HeldBytes bytes{object_, held.version, std::make_shared<const std::string>(100, 'x')};
  Restart(Recovering()).Connect("S").Say("S", held).EndInventory("S").Say("S", bytes);
  Join("R1").Locate("R1");
  Expect("R1: inline v1");
  Delete("R1").Ignore();
}

// Who asked between the copy and its bytes was sent to the holder.
TEST_F(Inventories, WhoWaitsForALostHolderGetsTheBytesThatWereRepeated) {
  layout_ = Layout::For(100);
  Join("S").Join("R1").PutInline("S", 100).Ignore();
  Held held{object_, VersionAt("S"), layout_, "", layout_.full_marks(), true};
  const HeldBytes bytes{object_, held.version, std::make_shared<const std::string>(100, 'x')};
  Restart(Recovering()).Join("R1").Connect("S").Say("S", held).EndInventory("S");
  Get("R1").Say("S", bytes).Ignore();
  Suspend("S");
  Fail("R1", 0, Failure::kUnreachable);
  Expect("R1: inline v1");
  Delete("R1").Ignore();
}

// Bytes that are not those of the present copy, or come before it was told, are nobody's.
TEST_F(Inventories, BytesCountForTheCopyThatTheirNodeHolds) {
  Join("S").Join("R1").PutInline("S", 100).Ignore();
  Held held{object_, VersionAt("S"), Layout::For(100), "", Layout::For(100).full_marks(), true};
  HeldBytes bytes{object_, held.version, std::make_shared<const std::string>(100, 'x')};
  Restart(Recovering()).Connect("S").Say("S", bytes).Say("S", held).EndInventory("S");
  bytes.bytes = std::make_shared<const std::string>(99, 'x');
  Say("S", bytes);
  bytes = {object_, Version{{1, 99}}, std::make_shared<const std::string>(100, 'x')};
  Say("S", bytes).Join("R1").Locate("R1");
  Expect("R1: located v1");
}

TEST_F(Inventories, AShardWithoutRoomForTheBytesSaysSo) {
  Join("S").PutInline("S", 100).Ignore();
  Held held{object_, VersionAt("S"), Layout::For(100), "", Layout::For(100).full_marks(), true};
  DirectoryOptions options = Recovering();
  options.inline_total_bytes = 99;
  Restart(options).Connect("S").Say("S", held).EndInventory("S").Ignore();
  Say("S", HeldBytes{object_, held.version, std::make_shared<const std::string>(100, 'x')});
  Expect("S: inline full");
}

TEST_F(Inventories, MetadataOfWhatExistsIsKeptBeyondTheTotal) {
  Join("S").PutInline("S", 100).Ignore();
  Held held{object_,
            VersionAt("S"),
            Layout::For(100),
            std::string(100, 'm'),
            Layout::For(100).full_marks(),
            true};
  DirectoryOptions options = Recovering();
  options.inline_total_bytes = 99;
  Restart(options).Connect("S").Say("S", held).EndInventory("S").Ignore();
  EXPECT_EQ(state_->Find(object_)->metadata.size(), 100);
  EXPECT_EQ(state_->Shard().inline_bytes, 100);
  object_ = ObjectId::FromName("another");
  metadata_ = "m";
  After(seconds(2)).Create("S");
  Expect("S: refused resource_exhausted");
}

TEST_F(Inventories, ASubscriptionIsRepeatedToo) {
  Join("S").Put("S").Ignore();
  Restart(Recovering()).Join("W").Subscribe("W");
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect("W: S complete");
}

TEST_F(Inventories, InventoriesThatMakeNoSenseAreIgnored) {
  Join("S");
  Held held{object_, Version{{5, 5}}, layout_, "", StripeMarks{1, 2, 3}};
  Say("S", held);
  held.marks = layout_.empty_marks();
  held.layout.run_bytes = 17;
  Say("S", held);
  held.layout = layout_;
  held.version = {};
  Say("S", held);
  Expect();
  EXPECT_FALSE(state_->Find(object_));
}

}  // namespace
}  // namespace hoplite::planner
