#include "cli/diagnosis.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"

namespace hoplite::cli {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kVersion = "1.2.3";

ExaminedNode Well(const std::string& name) {
  ExaminedNode node{.view = {.node = {.id = NodeId{7}, .name = name, .address = name + ":7001"}},
                    .strange_to = {},
                    .told = wire::CheckUp{.version = kVersion,
                                          .available_bytes = 8_GiB,
                                          .limited_by = "the machine",
                                          .descriptors = 40,
                                          .descriptor_limit = 1 << 20}};
  node.view.alive = true;
  node.answered_in = milliseconds(2);
  return node;
}

// Two nodes that reach each other, and their directory.
Examination WellCluster() {
  Examination found;
  found.nodes = {Well("n1"), Well("n2")};
  found.nodes[0].reaches.emplace("n2", milliseconds(1));
  found.nodes[1].reaches.emplace("n1", milliseconds(3));
  protocol::StatusPage picture;
  for (const ExaminedNode& node : found.nodes) picture.nodes.push_back(node.view);
  found.shards.push_back({"H1:7000", picture});
  return found;
}

std::vector<Finding> BadOnes(const Examination& found) {
  std::vector<Finding> findings = Diagnose(found, kVersion);
  std::erase_if(findings, &Finding::ok);
  return findings;
}

auto Is(const std::string& subject, const std::string& what, const std::string& advice) {
  return AllOf(testing::Field(&Finding::subject, subject),
               testing::Field(&Finding::what, HasSubstr(what)),
               testing::Field(&Finding::advice, HasSubstr(advice)));
}

TEST(Diagnosis, OfAClusterThatIsWellEveryLineIsOk) {
  const auto findings = Diagnose(WellCluster(), kVersion);
  EXPECT_THAT(BadOnes(WellCluster()), IsEmpty());
  EXPECT_TRUE(std::ranges::all_of(findings, [](const Finding& one) { return one.advice.empty(); }));
  const auto ways = std::ranges::find(findings, "nodes to each other", &Finding::subject);
  ASSERT_NE(ways, findings.end());
  EXPECT_EQ(ways->what, "2 of 2 ways work, the slowest took 3.0 ms");
}

TEST(Diagnosis, AShardThatDoesNotAnswer) {
  Examination found = WellCluster();
  found.shards.push_back({"H2:7000", std::unexpected(Error(ErrorCode::kUnavailable, "refused"))});
  EXPECT_THAT(BadOnes(found),
              ElementsAre(Is("directory shard 1 at H2:7000", "refused", "open its port")));
}

TEST(Diagnosis, ANodeThatAShardDoesNotKnow) {
  Examination found = WellCluster();
  found.nodes[1].strange_to = {1};
  EXPECT_THAT(BadOnes(found), ElementsAre(Is("n2", "shards 1 don't know it", "--directory")));
}

TEST(Diagnosis, ANodeThatDoesNotAnswer) {
  Examination found = WellCluster();
  found.nodes[0].told = std::unexpected(Error(ErrorCode::kUnavailable, "no route"));
  EXPECT_THAT(BadOnes(found), ElementsAre(Is("n1", "n1:7001 does not answer this host: no route",
                                             "open the port")));
}

TEST(Diagnosis, AWayThatDoesNotWork) {
  Examination found = WellCluster();
  found.nodes[1].reaches.at("n1") = std::unexpected(Error(ErrorCode::kUnavailable, "no such host"));
  EXPECT_THAT(BadOnes(found), ElementsAre(Is("n2 to n1", "no such host", "let n2's host resolve")));
}

TEST(Diagnosis, OfTheHost) {
  const auto with = [](auto change) {
    Examination found = WellCluster();
    change(found.nodes[0]);
    return BadOnes(found);
  };
  EXPECT_THAT(with([](ExaminedNode& node) { node.told->version = "1.2.4"; }),
              ElementsAre(Is("n1", "version 1.2.4, and this program is 1.2.3", "one version")));
  EXPECT_THAT(with([](ExaminedNode& node) { node.clock_ahead = -seconds(2); }),
              ElementsAre(Is("n1", "2.0 s behind", "NTP")));
  EXPECT_THAT(with([](ExaminedNode& node) { node.told->descriptor_limit = 1024; }),
              ElementsAre(Is("n1", "40 of 1024 descriptors", "to 4096 or more")));
  EXPECT_THAT(with([](ExaminedNode& node) { node.told->available_bytes = 1_MiB; }),
              ElementsAre(Is("n1", "the limit is the machine", "less --memory")));
  EXPECT_THAT(with([](ExaminedNode& node) { node.certificate = days(3) + seconds(9); }),
              ElementsAre(Is("n1", "good for 3 days", "hoplite certs")));
  EXPECT_THAT(with([](ExaminedNode& node) { node.view.alive = false; }),
              ElementsAre(Is("n1", "interrupted", "its log")));
  EXPECT_THAT(with([](ExaminedNode& node) { node.view.node.address = "127.0.0.1:7001"; }),
              ElementsAre(Is("n1", "other hosts don't reach", "--advertise")));
}

TEST(Diagnosis, AClockIsNoMoreExactThanTheQuestionsWay) {
  Examination found = WellCluster();
  found.nodes[0].answered_in = seconds(3);
  found.nodes[0].clock_ahead = seconds(2);
  EXPECT_THAT(BadOnes(found), IsEmpty());
}

TEST(Diagnosis, AllNodesOnThisHostMayHaveItsLoopbackAddress) {
  Examination found = WellCluster();
  for (ExaminedNode& node : found.nodes) node.view.node.address = "127.0.0.1:7001";
  EXPECT_THAT(BadOnes(found), IsEmpty());
}

}  // namespace
}  // namespace hoplite::cli
