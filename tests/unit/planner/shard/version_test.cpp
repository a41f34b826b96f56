// Which Put counts, inline objects, and subscriptions (R1-R4, R16).
#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::seconds;

class Puts : public Scenario {};

TEST_F(Puts, GrowFromOnePutToTheNext) {
  Join("S").Put("S");
  const Version first = VersionAt("S");
  Gone("S").Put("S");
  EXPECT_LT(first, VersionAt("S"));
  Expect("S: accepted v1", "S: accepted v2");
}

TEST_F(Puts, ASecondPutIsRefusedWhileTheFirstIsThere) {
  Join("S").Join("T").Create("S").Create("T").Complete("S").Create("T");
  Expect("S: accepted v1", "T: refused already_exists", "T: refused already_exists");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("1.0 MiB"));
}

NodeEvent SmallCreate(const Scenario& at, std::uint64_t attempt) {
  return Create{at.object_, Layout::For(4), "", std::make_shared<const std::string>("four"),
                attempt};
}

// R47.
TEST_F(Puts, APutThatIsTakenBackIsGoneWithItsBytes) {
  Join("S").Join("R1").Say("S", SmallCreate(*this, 1)).Say("S", Withdraw{object_, 1});
  Expect("S: accepted v1", "S: refused cancelled");
  Locate("R1");
  Expect();
  Say("S", SmallCreate(*this, 2));
  Expect("S: accepted v2", "R1: inline v2");
}

TEST_F(Puts, OnlyThePutThatIsNamedIsTakenBack) {
  Join("S").Join("T").Join("R1").Say("S", SmallCreate(*this, 1));
  Say("S", Withdraw{object_, 2}).Say("T", Withdraw{object_, 1}).Locate("R1");
  Expect("S: accepted v1", "S: refused cancelled", "T: refused cancelled", "R1: inline v1");
  Say("T", Withdraw{ObjectId::FromName("unknown"), 1});
  Expect("T: refused cancelled");
}

TEST_F(Puts, APutIsTakenBackInTheNextSessionAlsoAfterTheGrace) {
  Join("S").Join("R1").Say("S", SmallCreate(*this, 1)).Suspend("S").Connect("S");
  Say("S", Withdraw{object_, 1}).EndInventory("S").Locate("R1");
  Expect("S: accepted v1", "S: refused cancelled");
  Say("S", SmallCreate(*this, 2)).Lose("S").Ignore();
  Connect("S").Say("S", Withdraw{object_, 2}).EndInventory("S").Locate("R1");
  Expect("S: refused cancelled");
}

TEST_F(Puts, APutThatWaitsIsTakenBack) {
  Restart(Recovering()).Join("S").Say("S", SmallCreate(*this, 1)).Say("S", Withdraw{object_, 1});
  Expect();
  After(std::chrono::seconds(2));
  Join("R1").Locate("R1");
  ExpectAmong("S: refused cancelled");
  EXPECT_FALSE(state_->Find(object_)->inlined);
}

TEST_F(Puts, OfTwoPutsInOneBatchTheFirstWins) {
  Join("S").Join("T").JointGets().Create("T").Create("S").Now();
  Expect("T: accepted v1", "S: refused already_exists");
}

TEST_F(Puts, APutWaitsForTheGraceOfASuspendedHolder) {
  Join("S").Join("T").Join("U").Put("S").Suspend("S").Create("T");
  Expect("S: accepted v1");
  Connect("S").HeldComplete("S").EndInventory("S");
  Expect("T: refused already_exists");
  Suspend("S").Create("U");
  Expect();
  Lose("S");
  Expect("U: accepted v2");
}

TEST_F(Puts, ANewVersionRecallsPartialCopiesOfTheOldOne) {
  Join("S").Join("T").Join("R1").Create("S").Get("R1").Gone("S", GoneReason::kAborted);
  Expect("S: accepted v1", "R1: located v1", "R1 <- S", "R1: lost S");
  Create("T");
  Expect("R1: recall v2", "T: accepted v2");
  Close("R1", Outcome::kAbandoned);  // of the old version: nothing to do
  Get("R1");
  Expect("R1: located v2", "R1 <- T");
}

TEST_F(Puts, ALateCompletionOfAnOldVersionIsRecalled) {
  Join("S").Join("T").Join("R1").Create("S").Get("R1").Lose("S").Create("T");
  Ignore();
  Complete("R1");
  Expect("R1: recall v2");
  EXPECT_EQ(state_->Find(object_)->holders.size(), 1U);
}

TEST_F(Puts, BadRequestsAreRefusedInWords) {
  Join("S");
  layout_.block_bytes = 3;
  Create("S");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("block size"));
  layout_ = Layout::For(100);
  metadata_ = std::string(5000, 'm');
  Create("S");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("metadata has 5000 bytes, 4096 is the limit"));
  metadata_.clear();
  Say("S", protocol::Create{object_, layout_, "", std::make_shared<const std::string>("short")});
  EXPECT_THAT(last_message_, ::testing::HasSubstr("5 bytes came with an object of 100"));
  Expect("S: refused invalid_argument", "S: refused invalid_argument",
         "S: refused invalid_argument");
}

TEST_F(Puts, SmallObjectsTravelInsideTheDirectory) {
  Join("S").Join("R1").Join("R2").Locate("R1").PutInline("S", 100).Locate("R2");
  Expect("S: accepted v1", "R1: inline v1", "R2: inline v1");
  const ObjectView view = *state_->Find(object_);
  EXPECT_TRUE(view.inlined);
  EXPECT_EQ(view.holders.size(), 1U);  // receivers of inline bytes are no holders
}

TEST_F(Puts, APutOfSmallBytesWhoseAnswerWasLostIsAcceptedWhenItIsRepeated) {
  Join("S").Join("R1").PutInline("S", 100).Suspend("S").Ignore();
  Connect("S").PutInline("S", 100).EndInventory("S");
  Expect("S: accepted v1");
  Locate("R1");
  Expect("R1: inline v1");
}

// The bytes outlive the loss of their node, which comes back and asks for what it was never told.
TEST_F(Puts, AndAlsoIfItsNodeWasDeclaredLostMeanwhile) {
  Join("S").Join("R1").PutInline("S", 100).Lose("S").Ignore();
  Connect("S").PutInline("S", 100).EndInventory("S");
  Expect("S: accepted v1");
  Locate("R1");
  Expect("R1: inline v1");
}

// Another attempt with the same bytes is another Put.
TEST_F(Puts, ButNotANewPutOfTheSameBytes) {
  Join("S").PutInline("S", 100).Lose("S").Ignore();
  protocol::Create create{object_, Layout::For(100), metadata_,
                          std::make_shared<const std::string>(100, 'x'), 1};
  Connect("S").Say("S", create).EndInventory("S");
  Expect("S: refused already_exists");
}

TEST_F(Puts, InlineBytesOutliveTheirPutterUntilDelete) {
  Join("S").Join("R1").PutInline("S", 100).Lose("S").Locate("R1").Create("R1");
  Expect("S: accepted v1", "R1: inline v1", "R1: refused already_exists");
  Delete("R1");
  Expect("R1: deleted");
  EXPECT_FALSE(state_->Find(object_));
}

TEST_F(Puts, BytesBeyondTheLimitsStayWithTheirHolder) {
  DirectoryOptions options = New();
  options.inline_limit_bytes = 100;
  options.inline_total_bytes = 150;
  Restart(options).Join("S").Join("R1").PutInline("S", 101).Locate("R1");
  Expect("S: accepted v1", "R1: located v1");
  object_ = ObjectId::FromName("second");
  PutInline("S", 100).Locate("R1");
  Expect("S: accepted v2", "R1: inline v2");
  object_ = ObjectId::FromName("third");
  PutInline("S", 51).Locate("R1");  // with the second it would be 151
  Expect("S: accepted v3", "R1: located v3");
  object_ = ObjectId::FromName("second");
  Delete("S");
  Expect("S: deleted");
  object_ = ObjectId::FromName("fourth");
  PutInline("S", 51).Locate("R1");  // the second's share came back
  Expect("S: accepted v4", "R1: inline v4");
}

TEST_F(Puts, MetadataBeyondTheTotalIsRefusedUntilThereIsRoom) {
  DirectoryOptions options = New();
  options.inline_total_bytes = 150;
  metadata_ = std::string(100, 'm');
  Restart(options).Join("S").Join("R1").PutInline("S", 51).Locate("R1");
  Expect("S: accepted v1", "R1: located v1");  // with its metadata it would be 151
  EXPECT_EQ(state_->Shard().inline_bytes, 100);
  const ObjectId first = object_;
  object_ = ObjectId::FromName("second");
  metadata_ = std::string(51, 'm');
  Create("S");
  Expect("S: refused resource_exhausted");
  EXPECT_THAT(last_message_, ::testing::HasSubstr("51 bytes of metadata"));
  EXPECT_THAT(last_message_, ::testing::HasSubstr("--inline-total"));
  metadata_.clear();
  Create("S");
  Expect("S: accepted v2");
  object_ = first;
  Delete("S");
  Expect("S: deleted");
  object_ = ObjectId::FromName("third");
  metadata_ = std::string(51, 'm');
  Create("S");  // the first's share came back
  Expect("S: accepted v3");
}

TEST_F(Puts, AnObjectThatIsPutAgainMayHaveTheMetadataThatItHad) {
  DirectoryOptions options = New();
  options.inline_total_bytes = 100;
  metadata_ = std::string(100, 'm');
  Restart(options).Join("S").Join("W").Subscribe("W").Put("S").Gone("S").Ignore();
  Put("S");
  Expect("S: accepted v2", "W: S partial", "W: S complete");
}

TEST_F(Puts, SubscribersHearOfEveryChangeInOrder) {
  Join("W").Join("S").Join("R1").Subscribe("W").Create("S").Complete("S").Get("R1").Done("R1");
  Lose("S");
  Delete("R1");
  Expect("S: accepted v1", "W: S partial", "W: S complete", "R1: located v1", "R1 <- S",
         "W: R1 partial", "W: R1 complete", "W: S gone", "W: deleted", "R1: deleted");
  After(seconds(61)).Create("R1");
  Expect("R1: accepted v2", "W: R1 partial");
  Say("W", Unsubscribe{object_}).Complete("R1");
  Expect();
}

TEST_F(Puts, ALateSubscriberHearsWhatIsThere) {
  Join("W").Join("S").Join("R1").Put("S").Get("R1").Ignore();
  Subscribe("W");
  Expect("W: S complete", "W: R1 partial");
  object_ = ObjectId::FromName("small");
  PutInline("S", 10).Ignore().Subscribe("W");
  Expect("W: it inline", "W: S complete");
}

}  // namespace
}  // namespace hoplite::planner
