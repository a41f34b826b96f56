// Who gets memory of a node, and whom others ask for it: rules R18, R45. Told in the order in which
// it happens, answered in words.
#include "planner/node/memory_state.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A node of so many bytes, in which any bytes that are free are in one piece. Whoever is named gets
// or holds memory; words name them.
class Room {
 public:
  explicit Room(std::uint64_t bytes) : free_(bytes) {}

  // A part of `operation` wants memory, or looks again if it waits.
  Room& Wants(const std::string& who, std::uint64_t bytes, const std::string& operation = "") {
    MemoryState::Effects effects;
    if (!waiting_.contains(who)) {
      const auto part_of =
          operation.empty() ? std::nullopt : std::optional(ObjectId::FromName(operation));
      waiting_[who] = {state_.Enter(bytes, part_of, free_), bytes};
    }
    const MemoryState::Place place = waiting_[who].place;
    if (!state_.MayLook(place, effects)) {
      words_.push_back(who + " waits");
    } else if (bytes <= free_) {
      free_ -= bytes;
      waiting_.erase(who);
      words_.push_back(who + " has it");
      state_.Found(place, free_, effects);
    } else {
      words_.push_back(who + " finds none");
      state_.FoundNone(place, Movable(bytes), free_, effects);
    }
    return Note(effects);
  }
  Room& Goes(const std::string& who) {
    MemoryState::Effects effects;
    const MemoryState::Place place = waiting_.at(who).place;
    waiting_.erase(who);
    state_.Leave(place, free_, effects);
    return Note(effects);
  }
  Room& Free(std::uint64_t bytes) {
    MemoryState::Effects effects;
    free_ += bytes;
    state_.OnSpace(free_, effects);
    return Note(effects);
  }
  Room& Second() {
    MemoryState::Effects effects;
    state_.OnTick(free_, effects);
    return Note(effects);
  }
  // A complete relayed copy that nobody reads, younger than those before.
  Room& Has(const std::string& name, std::uint64_t bytes, std::uint64_t version = 1) {
    copies_.push_back({name, bytes, version});
    return *this;
  }
  // The shard answers what it was asked about a copy.
  Room& Answered(const std::string& name, bool drop, std::uint64_t version = 1) {
    const auto copy = std::ranges::find(copies_, name, &Copy::name);
    const bool here = copy != copies_.end();
    const auto present = here ? std::optional(VersionOf(copy->version)) : std::nullopt;
    const protocol::EvictAnswer answer{ObjectId::FromName(name), VersionOf(version), drop};
    switch (state_.On(answer, present)) {
      case MemoryState::Fate::kNone:
        words_.emplace_back("nothing");
        break;
      case MemoryState::Fate::kGoes:
        words_.push_back(name + " goes");
        free_ += copy->bytes;
        copies_.erase(copy);
        break;
      case MemoryState::Fate::kStays:
        words_.push_back(name + " stays");
        copy->movable = false;
        break;
    }
    return Free(0);
  }
  // Somebody holds memory, and can do without while a part of that operation waits.
  Room& Lends(const std::string& who, const std::string& operation, bool also_others = false) {
    lenders_.push_back(std::make_unique<Lender>(*this, who, operation, also_others));
    state_.Lends(*lenders_.back());
    return *this;
  }
  Room& SessionEnds() {
    state_.ForgetQuestions();
    return *this;
  }

  // What happened since the last look.
  std::vector<std::string> Happens() { return std::exchange(words_, {}); }
  const MemoryState& state() const { return state_; }

 private:
  struct Waiting {
    MemoryState::Place place = 0;
    std::uint64_t bytes = 0;
  };
  struct Copy {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t version = 0;
    bool movable = true;
  };
  struct Lender final : MemoryState::Lender {
    Lender(Room& room_in, std::string name_in, const std::string& operation_in, bool also_others_in)
        : room(room_in),
          name(std::move(name_in)),
          operation(ObjectId::FromName(operation_in)),
          also_others(also_others_in) {}
    bool Spares(const std::optional<ObjectId>& waiting) const override {
      return !asked && (also_others || waiting == operation);
    }
    void GiveBack() override {
      asked = true;
      room.words_.push_back(name + " gives back");
    }

    Room& room;
    const std::string name;
    const ObjectId operation;
    const bool also_others;
    bool asked = false;
  };

  static Version VersionOf(std::uint64_t number) { return {{1, number}}; }
  // The oldest, until there would be room.
  std::vector<protocol::EvictAsk> Movable(std::uint64_t bytes) const {
    std::vector<protocol::EvictAsk> asks;
    std::uint64_t room = free_;
    for (const Copy& copy : copies_) {
      if (!copy.movable || room >= bytes) continue;
      room += copy.bytes;
      asks.push_back({ObjectId::FromName(copy.name), VersionOf(copy.version)});
    }
    if (room < bytes) asks.clear();
    return asks;
  }
  Room& Note(const MemoryState::Effects& effects) {
    for (const protocol::EvictAsk& ask : effects.ask) {
      const auto copy = std::ranges::find_if(
          copies_, [&](const Copy& one) { return ObjectId::FromName(one.name) == ask.object; });
      words_.push_back("may " + copy->name + " go?");
    }
    if (effects.give_back != nullptr) effects.give_back->GiveBack();
    for (const MemoryState::Place place : effects.wake) {
      const auto woken = std::ranges::find_if(
          waiting_, [&](const auto& waiting) { return waiting.second.place == place; });
      words_.push_back(woken == waiting_.end() ? "nobody wakes" : woken->first + " wakes");
    }
    return *this;
  }

  MemoryState state_;
  std::uint64_t free_;
  std::map<std::string, Waiting> waiting_;
  std::vector<Copy> copies_;
  std::vector<std::unique_ptr<Lender>> lenders_;
  std::vector<std::string> words_;
};

// --- who looks

TEST(MemoryState, WhereThereIsRoomNobodyIsAsked) {
  Room room(100);
  room.Has("old", 50).Lends("slot", "sum").Wants("a", 60, "sum");
  EXPECT_THAT(room.Happens(), ElementsAre("a has it"));
  EXPECT_FALSE(room.state().waited_for());
}

TEST(MemoryState, WhoeverWaitsIsWokenByAReleaseInTheOrderOfComing) {
  Room room(0);
  room.Wants("a", 50).Wants("b", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a finds none", "b waits"));
  room.Free(50);
  EXPECT_THAT(room.Happens(), ElementsAre("a wakes"));
  room.Wants("b", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("b waits")) << "although there is room";
  room.Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a has it", "b wakes"));
}

TEST(MemoryState, WhoeverGoesLetsTheNextOneLook) {
  Room room(0);
  room.Wants("a", 50).Wants("b", 50).Goes("a");
  EXPECT_THAT(room.Happens(), ElementsAre("a finds none", "b waits", "b wakes"));
  room.Goes("b");
  EXPECT_FALSE(room.state().waited_for());
  room.Free(50).Second();
  EXPECT_THAT(room.Happens(), IsEmpty()) << "nobody is left";
}

TEST(MemoryState, ASmallOnePassesALargeOneThatIsNotHelped) {
  Room room(20);
  room.Wants("large", 50).Wants("small", 10);
  EXPECT_THAT(room.Happens(), ElementsAre("large finds none", "small has it"));
}

// --- what the shard is asked

TEST(MemoryState, TheShardIsAskedOnceForWhatMakesRoom) {
  Room room(0);
  room.Has("older", 30).Has("old", 30).Has("young", 30).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a finds none", "may older go?", "may old go?"));
  room.Free(10).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a wakes", "a finds none"))
      << "both questions are under way";
  room.Answered("older", true).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("older goes", "a wakes", "a finds none"));
  room.Answered("old", true).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("old goes", "a wakes", "a has it"));
}

TEST(MemoryState, ACopyThatIsTheLastOneStaysAndAnotherIsAskedFor) {
  Room room(0);
  room.Has("last", 50).Has("other", 50).Wants("a", 50).Happens();
  room.Answered("last", false).Wants("a", 50);
  EXPECT_THAT(room.Happens(),
              ElementsAre("last stays", "a wakes", "a finds none", "may other go?"));
}

TEST(MemoryState, WhereNothingHelpsNothingIsAsked) {
  Room room(0);
  room.Has("little", 10).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a finds none"));
}

TEST(MemoryState, WhoeverIsOutOfTurnAsksForNoCopies) {
  Room room(0);
  room.Wants("first", 50).Has("old", 50).Wants("second", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("first finds none", "second waits"));
}

TEST(MemoryState, AnAnswerAboutWhatIsNotHereAnyMoreChangesNothing) {
  Room room(0);
  room.Has("x", 50, 2).Wants("a", 50).Happens();
  room.Answered("x", true, 1);
  EXPECT_THAT(room.Happens(), ElementsAre("nothing", "a wakes")) << "of an older version";
  room.Answered("never here", false);
  EXPECT_THAT(room.Happens(), ElementsAre("nothing", "a wakes"));
}

TEST(MemoryState, AnswersThatALostSessionTookAlongAreAskedForAgain) {
  Room room(0);
  room.Has("old", 50).Wants("a", 50).Happens();
  room.SessionEnds().Free(0).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a wakes", "a finds none", "may old go?"));
}

// --- who gives back

TEST(MemoryState, OneLenderGivesBackAtATimeTheFirstOneFirst) {
  Room room(0);
  room.Lends("s1", "sum").Lends("s2", "sum").Lends("s3", "other").Wants("a", 50, "sum");
  EXPECT_THAT(room.Happens(), ElementsAre("a finds none", "s1 gives back"));
  EXPECT_TRUE(room.state().hoarded()) << "s2 could, too";
  room.Free(10).Wants("a", 50, "sum");
  EXPECT_THAT(room.Happens(), ElementsAre("a wakes", "a finds none", "s2 gives back"));
  EXPECT_FALSE(room.state().hoarded());
}

TEST(MemoryState, OutOfTurnMemoryOfItsOwnOperationComesBackAllTheSame) {
  Room room(0);
  room.Wants("stranger", 50).Lends("s1", "sum").Wants("a", 50, "sum");
  EXPECT_THAT(room.Happens(), ElementsAre("stranger finds none", "a waits", "s1 gives back"));
}

TEST(MemoryState, WhoeverIsPartOfNoOperationGetsWhatIsSparedForAnybody) {
  Room room(0);
  room.Lends("working", "sum").Lends("resting", "sum", true).Wants("a", 50);
  EXPECT_THAT(room.Happens(), ElementsAre("a finds none", "resting gives back"));
  EXPECT_FALSE(room.state().hoarded()) << "it belongs to no operation";
}

// --- windows

TEST(MemoryState, AWindowIsAPartOfASmallStoreInWholeBlocks) {
  const Layout layout = Layout::For(1_GiB);
  EXPECT_EQ(MemoryState::WindowBytes(layout, 64_MiB), 4_MiB);
  EXPECT_EQ(MemoryState::WindowBytes(layout, 1_MiB), 256_KiB);
  EXPECT_EQ(MemoryState::WindowBytes(layout, 1_MiB - 1), 256_KiB - layout.block_bytes);
  EXPECT_EQ(MemoryState::WindowBytes(layout, 1), layout.block_bytes) << "one at least";
}

}  // namespace
}  // namespace hoplite::planner
