// Scenario: says in one line what a node does, and expects in one line what the shard answers.
//
//   Join("S").Put("S").Join("R1").Get("R1");
//   Expect("S: accepted v1", "R1: located v1", "R1 <- S");
//
// After each step the invariants are checked; at the end of a test everybody leaves and nothing may
// be left over. Answers in words:
//   "N: accepted v1"   "N: refused CODE"      "N: located v1"  "N: inline v1"  "N: deleted"
//   "N: inline v1 for M O"         which the node hands on to those
//   "N: located v1 and wants it"   its question counted as a Want
//   "N: recall v1"     "N: drop" "N: keep"    "N: lost M"      "N: M complete" (a subscriber's)
//   "N: takes a copy v1"   for others, who can't reach its holders
//   "N: owner 2 ok"    to the node's second word of owning it; "N: ever owned"
//   "R <- S"           a grant; "R <- S {1}" only those stripes; "R <- S strict" without equality;
//                      "R <- S moved" if it replaces an earlier grant of R
// and of reductions:
//   "C: opened"        "C: reduction refused CODE"         "C: lost slot 2"
//   "C: committed v4 of 3"    "N: slot 2 v1"           "N: 2 pulls 1 from M v3"
//   "N: drops 2 v1"    "N: aborted CODE"
// where "N: 2 pulls 1 from M v3 {4}" is a feed of only those stripes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/shard/directory_state.h"

namespace hoplite::planner {

class Scenario : public ::testing::Test {
 public:
  using Self = Scenario&;
  Scenario();

  // A fresh shard with these settings; everybody joins anew.
  Self Restart(const DirectoryOptions& options);
  DirectoryOptions New() const;         // a cluster known to be new
  DirectoryOptions Recovering() const;  // with a window of 1 s
  Self After(Duration passed);
  // The same, but the shard is called whenever it asks to be.
  Self Pass(Duration passed);
  // Between these the shard is told, but not asked to plan.
  Self JointGets();
  Self Now();

  Self Join(const std::string& node);     // and its empty inventory
  Self Connect(const std::string& node);  // its inventory is still to come
  // Its host stands in that site, and its link carries so many bytes per second; 0: nobody knows.
  Self JoinAt(const std::string& node, const std::string& site, std::uint64_t link);
  Self Suspend(const std::string& node);
  Self Lose(const std::string& node);
  Self Say(const std::string& node, NodeEvent event);

  Self Create(const std::string& node);
  Self PutInline(const std::string& node, std::uint64_t bytes);
  Self Complete(const std::string& node);  // of the version that the node knows
  Self Gone(const std::string& node, GoneReason reason = GoneReason::kDropped);
  Self Put(const std::string& node) { return Create(node).Complete(node); }
  // `expects`: the number by which it relies on an owner (R59); the same in Subscribe.
  Self Locate(const std::string& node, std::uint64_t expects = 0);
  // With so much room, by a question of its own number; the second relies on an owner, too.
  Self Ask(const std::string& node, std::uint64_t room);
  Self AskIfOwned(const std::string& node, std::uint64_t room, std::uint64_t expects);
  Self Want(const std::string& node, std::uint32_t blocks = 0);
  Self WantAsLeaf(const std::string& node, std::uint32_t blocks = 0);
  Self Get(const std::string& node) { return Locate(node).Want(node); }
  Self CancelWant(const std::string& node);
  Self Progress(const std::string& node, std::uint32_t blocks, Duration starved = Duration{0});
  // The newest grant of the receiver ends.
  Self Done(const std::string& node);  // and the copy is complete
  Self Fail(const std::string& node, std::uint32_t blocks, Failure failure = Failure::kBroken);
  Self Close(const std::string& node, Outcome outcome, std::uint32_t blocks = 0);
  Self Delete(const std::string& node);
  // taker: is to get a copy if that is the last.
  Self Evict(const std::string& node, const std::string& taker = "");
  Self Subscribe(const std::string& node, std::uint64_t expects = 0);
  Self HeldBy(const std::string& node, std::uint32_t blocks, const std::string& upstream = "");
  Self HeldComplete(const std::string& node);
  // Of what nodes own; each of a node's words has the next number.
  Self Own(const std::string& node) { return Own(node, true); }
  Self Disown(const std::string& node) { return Own(node, false); }
  Self OwnFor(const std::string& node, Duration grace);
  Self Owned(const std::string& node, bool own = true);  // in an inventory
  Self OwnedPut(const std::string& node, std::uint64_t attempt = 1);
  Self PutIfOwned(const std::string& node);
  Self HeldOwned(const std::string& node);  // a complete copy of what was ever owned
  Self EndInventory(const std::string& node) { return Say(node, InventoryEnd{}); }

  // Every answer since the last Expect, in order.
  template <typename... Lines>
  void Expect(const Lines&... lines) {
    EXPECT_THAT(std::exchange(answers_, {}),
                ::testing::ElementsAreArray(std::vector<std::string>{lines...}));
  }
  Self Ignore() {
    answers_.clear();
    return *this;
  }
  // Among others.
  void ExpectAmong(const std::string& line) {
    EXPECT_THAT(std::exchange(answers_, {}), ::testing::Contains(line));
  }

  void ExpectNotAmong(const std::string& line) {
    EXPECT_THAT(std::exchange(answers_, {}), ::testing::Not(::testing::Contains(line)));
  }

  void TearDown() override;

  GrantId NewestGrant(const std::string& receiver) { return grants_[receiver]; }
  NodeId Id(const std::string& node);
  StripeMarks Marks(std::uint32_t blocks) const;
  Version VersionAt(const std::string& node) { return versions_[node]; }
  Version MarkAt(const std::string& node) { return marks_[node]; }  // of the last Deleted
  // Of a slot, as its node was told last; and of a child, as its parent's node was.
  Version SlotAt(const std::string& node, std::uint32_t slot) { return slots_[{node, slot}]; }
  Version FeedAt(const std::string& node, std::uint32_t slot, std::uint32_t input) {
    return feeds_[{node, slot, input}];
  }

  ObjectId object_ = ObjectId::FromName("it");
  Layout layout_ = Layout::For(64 * 16 * 1024, 1);  // 64 blocks in one stripe
  std::string metadata_;
  bool joint_ = false;  // nodes that want it say that they fetch other objects, too
  Time now_{};
  Time next_{};                         // what the last Plan returned
  MoveReason why_ = MoveReason::kNone;  // of the last move that had a reason
  std::unique_ptr<DirectoryState> state_;
  std::string last_message_;                      // of the last refusal
  std::map<std::string, std::uint64_t> numbers_;  // the highest of each node's that owns

 private:
  void Step(const EventBody& body);
  Self Own(const std::string& node, bool own);
  void Note(const Action& action);
  std::string Words(const std::string& to, const NodeAction& body);
  std::string WordsOfReduction(const std::string& to, const NodeAction& body);
  std::string Number(Version version);

  std::map<std::string, NodeId> ids_;
  std::map<NodeId, std::string> names_;
  std::map<std::string, Version> versions_;  // what each node believes
  std::map<std::string, Version> marks_;
  std::map<std::string, GrantId> grants_;  // newest of each receiver
  std::map<std::pair<std::string, std::uint32_t>, Version> slots_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, Version> feeds_;
  std::vector<Version> seen_;
  std::vector<std::string> answers_;
  std::uint64_t asked_ = 0;  // numbers questions with room
  bool batching_ = false;
};

}  // namespace hoplite::planner
