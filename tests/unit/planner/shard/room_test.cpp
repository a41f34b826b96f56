// A node that holds room while it asks where an object is wants it with the same word (R63).
#include <algorithm>
#include <string>

#include "unit/planner/scenario.h"

namespace hoplite::planner {
namespace {

using std::chrono::microseconds;

class WithRoom : public Scenario {
 protected:
  WithRoom() { Join("S").Join("R1").Join("R2"); }
  std::uint64_t enough() const { return layout_.size_bytes; }
  bool Listed(const std::string& node) const {
    const auto view = state_->Find(object_);
    return view && std::ranges::count(view->holders, node, &HolderView::node_name) > 0;
  }
};

TEST_F(WithRoom, TheAnswerComesWithTheGrant) {
  Put("S").Ignore();
  Ask("R1", enough());
  Expect("R1: located v1 and wants it", "R1 <- S");
  Done("R1").Ignore();
  EXPECT_TRUE(Listed("R1"));
}

TEST_F(WithRoom, ALargerObjectIsWantedWhenThereIsMemoryForIt) {
  Put("S").Ignore();
  Ask("R1", enough() - 1);
  Expect("R1: located v1");
  EXPECT_FALSE(Listed("R1")) << "nobody is sent to it meanwhile (R9)";
  Want("R1");
  Expect("R1 <- S");
}

TEST_F(WithRoom, WhoeverWaitsForTheObjectIsGrantedAsSoonAsItBegins) {
  Ask("R1", enough());
  Expect();
  Create("S");
  Expect("S: accepted v1", "R1: located v1 and wants it", "R1 <- S");
}

TEST_F(WithRoom, RoomThatWasGivenUpBeforeTheObjectCameDoesNotCount) {
  Ask("R1", enough()).Ask("R1", 0).Create("S");
  Expect("S: accepted v1", "R1: located v1");
}

TEST_F(WithRoom, BytesThatComeWithTheAnswerAreNotWanted) {
  layout_ = Layout::For(100);
  PutInline("S", 100).Ignore();
  Ask("R1", enough());
  Expect("R1: inline v1");
  EXPECT_FALSE(Listed("R1"));
}

// Those who want with their question wait for each other like those who say it afterwards.
TEST_F(WithRoom, TheFirstPassWaitsForThoseWhoComeTogether) {
  DirectoryOptions options = New();
  options.link.latency = microseconds(10);
  options.link.bytes_per_second = 100e6;
  joint_ = true;
  Restart(options).Join("S").Join("R1").Join("R2").Join("X").Put("S").Ignore();
  Ask("R2", enough());
  Expect("R2: located v1 and wants it");
  After(microseconds(50)).Ask("R1", enough());
  Expect("R1: located v1 and wants it");
  After(microseconds(5000));
  Expect("R1 <- S", "R2 <- R1");
}

TEST_F(WithRoom, AWantThatNobodyTakesUpIsTakenBackLikeAny) {
  Put("S").Ignore();
  Ask("R1", enough()).Ask("R2", enough()).Ignore();
  const std::string behind = state_->Find(object_)->transfers[0].from_name == "S" ? "R2" : "R1";
  CancelWant("R1").Ignore();
  EXPECT_FALSE(Listed("R1"));
  ASSERT_EQ(state_->Find(object_)->transfers.size(), 1u) << behind;
  EXPECT_EQ(state_->Find(object_)->transfers[0].from_name, "S");
  EXPECT_EQ(state_->Find(object_)->transfers[0].to_name, "R2");
}

TEST_F(WithRoom, WhoeverHasAPartSpeaksForItself) {
  Put("S").Get("R1").Progress("R1", 10).Ignore();
  Ask("R1", enough());
  Expect("R1: located v1");
}

// The answer was lost with the session, and the grant with it: what the inventory does not repeat
// is gone before its questions are answered.
TEST_F(WithRoom, AnAnswerThatALostSessionTookAlongIsGivenAgain) {
  Put("S").Ignore();
  Ask("R1", enough());
  Expect("R1: located v1 and wants it", "R1 <- S");
  Suspend("R1").Connect("R1").Ignore();
  Ask("R1", enough());
  Expect("R1: located v1 and wants it", "R1 <- S strict");
  EndInventory("R1").Done("R1").Ignore();
  EXPECT_TRUE(Listed("R1"));
}

// The same where the question has no room: the Want comes while the inventory is told.
TEST_F(WithRoom, AGrantThatALostSessionTookAlongIsGivenAgain) {
  Put("S").Get("R1").Suspend("R1").Connect("R1").Ignore();
  Locate("R1").Want("R1");
  Expect("R1: located v1", "R1 <- S strict");
}

TEST_F(WithRoom, WhoWantsHearsOfANewerVersionAndOfADelete) {
  Create("S").Ignore();
  Ask("R1", enough());
  Expect("R1: located v1 and wants it", "R1 <- S");
  Lose("S").Join("S").Ignore();
  Create("S");
  Expect("R1: recall v2", "S: accepted v2");
  Ask("R1", enough()).Ignore();
  Delete("R2");
  Expect("S: deleted", "R1: deleted", "R2: deleted");
}

TEST_F(WithRoom, WhoRelyOnAnOwnerHearThatThereIsNoneAndTheQuestionStaysOpen) {
  AskIfOwned("R1", enough(), 1);
  Expect("R1: unowned 1");
  Create("S");
  Expect("S: accepted v1", "R1: located v1 and wants it", "R1 <- S");
}

}  // namespace
}  // namespace hoplite::planner
