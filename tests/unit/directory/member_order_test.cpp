// The order in which a node tries the members of a shard.
#include "directory/member_order.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "directory/away.h"

namespace hoplite::directory {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kList{"a", "b", "c"};

// What happens at the member that is tried: "refused", "silent", "by b" (it stands by for b), "by -"
// (for nobody that it knows), "holds" (it answers as the holder), "lasts".
void Happen(MemberOrder& order, const std::string& what, std::string& tried) {
  const auto tell = [&](bool over) {
    tried += over ? " | " + order.current() : " " + order.current();
  };
  if (what == "refused") {
    tell(order.Fails(CannotConnect("10.0.0.1:7000", "Connection refused")));
  } else if (what == "silent") {
    tell(order.Fails(kNoAnswer));
  } else if (what == "holds") {
    order.Answers({.addresses = kList, .holder = order.current()});
  } else if (what == "lasts") {
    order.Lasts();
  } else {
    const std::string holder = what.substr(3);
    tell(order.StandsBy({.addresses = kList, .holder = holder == "-" ? "" : holder}));
  }
}

struct Row {
  std::vector<std::string> events;
  std::string tried;  // a bar: between two rounds
};

TEST(MemberOrderTest, WhoIsTriedAfterWhat) {
  const std::vector<Row> rows{
      // In order, round and round.
      {{"refused", "refused", "refused", "refused"}, "a b c | a b"},
      {{"silent", "by -", "silent"}, "a b c | a"},
      // The holder that is named comes next, and is the first of the next round.
      {{"by c"}, "a c"},
      {{"by c", "refused", "refused"}, "a c b | c"},
      {{"refused", "by c", "holds"}, "a b c"},
      // Who names a member that was tried, or itself, sends nobody anywhere.
      {{"refused", "by a", "by a"}, "a b c | a"},
      {{"by b", "by a", "by a"}, "a b c | a"},
      {{"by a"}, "a b"},
      // The newest word counts.
      {{"refused", "by a", "by b"}, "a b c | b"},
      {{"by b", "by -", "refused"}, "a b c | a"},
      // What has lasted begins a round with its end, at the holder that is known.
      {{"by b", "holds", "lasts", "refused"}, "a b b"},
      {{"by b", "holds", "lasts", "refused", "refused", "refused", "refused"}, "a b b a c | b"},
      {{"holds", "lasts", "by c"}, "a c"},
      {{"holds", "lasts", "by c", "refused", "by -"}, "a c a b"},
      // What has not lasted counts as tried.
      {{"holds", "refused", "refused", "refused"}, "a b c | a"},
      {{"by b", "holds", "refused", "refused"}, "a b c | b"},
  };
  for (const auto& [events, tried] : rows) {
    MemberOrder order(kList);
    std::string seen = order.current();
    for (const std::string& event : events) Happen(order, event, seen);
    EXPECT_EQ(seen, tried);
  }
}

TEST(MemberOrderTest, ANodeWithAnOldListTakesTheMembersOwn) {
  MemberOrder order({"a"});
  EXPECT_TRUE(order.alone());
  EXPECT_FALSE(order.StandsBy({.addresses = {"d", "e", "a"}, .holder = "e"}));
  EXPECT_EQ(order.current(), "e");
  EXPECT_FALSE(order.alone());
  EXPECT_FALSE(order.Fails("x"));
  EXPECT_EQ(order.current(), "d");

  MemberOrder other(kList);
  other.Answers({.addresses = {"d", "e", "a"}, .holder = "a"});
  other.Lasts();
  std::string tried = other.current();
  for (int i = 0; i < 6; ++i) tried += (other.Fails("x") ? "|" : "") + other.current();
  EXPECT_EQ(tried, "aadebc|a") << "what it began with comes last";
}

TEST(MemberOrderTest, TheReportNamesWhoDoesNotAnswerAndWhy) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows{
      {{}, ""},
      {{"by -", "refused"}, ""},
      {{"by -", "refused", "refused"}, "1 of 3 members answers (b, c: Connection refused)"},
      {{"refused", "refused", "refused"}, "0 of 3 members answer (a, b, c: Connection refused)"},
      {{"silent", "by a", "by a"},
       "2 of 3 members answer (the holder a: it did not answer in time)"},
      {{"silent", "refused", "by -"},
       "1 of 3 members answers (a: it did not answer in time; b: Connection refused)"},
      {{"by -", "by -", "by -"}, "3 of 3 members answer, and none holds it"},
  };
  for (const auto& [events, report] : rows) {
    MemberOrder order(kList);
    std::string seen;
    for (const std::string& event : events) Happen(order, event, seen);
    EXPECT_EQ(order.Report(), report);
  }
}

TEST(MemberOrderTest, PatienceGrowsWithRoundsThatHadASilentMember) {
  MemberOrder order(kList);
  EXPECT_EQ(order.patience(1s), 300ms);
  std::string seen;
  for (const char* event : {"silent", "by -", "by -"}) Happen(order, event, seen);
  EXPECT_EQ(order.patience(1s), 400ms);
  for (const char* event : {"refused", "by -", "by -"}) Happen(order, event, seen);
  EXPECT_EQ(order.patience(1s), 400ms);
  for (int i = 0; i < 30; ++i) Happen(order, "silent", seen);
  EXPECT_EQ(order.patience(1s), 1s);
  order.Lasts();
  EXPECT_EQ(order.patience(1s), 300ms);
  EXPECT_EQ(MemberOrder({"a"}).patience(1s), 1s) << "there is nobody else";
}

}  // namespace
}  // namespace hoplite::directory
