#include "cli/chrome_trace.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hoplite::cli {
namespace {

using wire::TraceEntry;

const ObjectId kX = ObjectId::FromName("x");
const ObjectId kY = ObjectId::FromName("y");

std::vector<MemberTrace> Members() {
  return {{"shard 0", std::vector<TraceEntry>{{5, Decided::kJoined, ObjectId(), "n1"},
                                              {20, Decided::kGrants, kX, "n1 <- n2"}}},
          {"n1", std::vector<TraceEntry>{{8, Decided::kComplete, kY, ""},
                                         {10, Decided::kAsked, kX, ""},
                                         {21, Decided::kGranted, kX, "n2"},
                                         {50, Decided::kComplete, kX, ""}}},
          {"n2", std::unexpected(Error(ErrorCode::kTimeout, "it did not answer in time"))}};
}

// "process/thread name at ts", with "+dur" of a bar; without what only names something.
std::vector<std::string> Shown(const Json& trace) {
  std::vector<std::string> shown;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") continue;
    std::string line = event["pid"].dump() + "/" + event["tid"].dump() + " " +
                       event["name"].get<std::string>() + " at " + event["ts"].dump();
    if (event.contains("dur")) line += "+" + event["dur"].dump();
    shown.push_back(line);
  }
  return shown;
}

TEST(ChromeTrace, HasAProcessForEachMemberAndAThreadForEachObject) {
  EXPECT_EQ(
      Shown(ToChromeTrace(Members(), std::nullopt)),
      (std::vector<std::string>{"1/0 joined n1 at 5", "1/1 grants n1 <- n2 at 20",
                                "2/1 complete at 8", "2/2 asked at 10", "2/2 granted n2 at 21",
                                "2/2 complete at 50", "2/2 fetch at 10+40"}));
}

TEST(ChromeTrace, OfOneObjectLeavesOutTheOthers) {
  EXPECT_EQ(Shown(ToChromeTrace(Members(), kY)),
            (std::vector<std::string>{"1/0 joined n1 at 5", "2/1 complete at 8"}));
}

TEST(ChromeTrace, AnObjectHasItsNameAtAllMembersWhereOneToldIt) {
  std::vector<MemberTrace> members = Members();
  members[1].decisions->push_back({60, Decided::kNamed, kX, "x\n"});
  std::vector<std::string> names;
  for (const Json& event : ToChromeTrace(members, kX)["traceEvents"]) {
    if (event["ph"] == "M") names.push_back(event["args"]["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"shard 0", "sessions", "name:x\\n", "n1", "sessions",
                                             "name:x\\n"}));
}

TEST(ChromeTrace, NamesMembersAndObjects) {
  std::vector<std::string> names;
  const Json trace = ToChromeTrace(Members(), kX);
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") names.push_back(event["args"]["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"shard 0", "sessions", kX.ToHex(), "n1", "sessions",
                                             kX.ToHex()}));
}

}  // namespace
}  // namespace hoplite::cli
