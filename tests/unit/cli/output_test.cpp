#include "cli/output.h"

#include <gtest/gtest.h>

namespace hoplite::cli {
namespace {

const ObjectId kObject = ObjectId::FromName("x");

ClusterStatus TwoNodes() {
  const ObjectInfo object{
      .id = kObject,
      .size_bytes = 1000,
      .version = "1.2",
      .metadata = "\x01z",
      .holders = {{"n1", true, 1000}, {"n2", false, 250}},
      .transfers = {{kObject, "n1", "n2", 250}},
      .waiters = {{"n3", "every holder is busy"}},
      .slots = {{1, 0, "n1", {kObject}, 250}, {2, 1, "n2", {}, 1000, {1}, {0, 3}}}};
  return {.nodes = {{"n1", "127.0.0.1:1", true, 64, 10, 12'500'000, std::chrono::seconds(90)},
                    {.name = "n2", .address = "127.0.0.1:2", .corrupt_blocks = 3}},
          .objects = {object},
          .shards = {{.objects = 1, .inline_total_bytes = 4096, .session_queue_bytes = 8192},
                     {.objects = 2,
                      .inline_bytes = 64,
                      .most_queued_bytes = 1024,
                      .most_queued_node = "n2",
                      .inline_total_bytes = 4096,
                      .session_queue_bytes = 8192,
                      .moves = {{"slow", 0}, {"faster", 2}, {"lost", 1}}}}};
}

TEST(Output, StatusHasTheNamesThatScriptsRelyOn) {
  const Json expected = Json::parse(R"({
    "nodes": [
      {"name":"n1","address":"127.0.0.1:1","alive":true,"memory_bytes":64,"used_bytes":10,
       "bytes_per_second":12500000,"rate_age_us":90000000,"round_trip_us":0,"corrupt_blocks":0},
      {"name":"n2","address":"127.0.0.1:2","alive":false,"memory_bytes":0,"used_bytes":0,
       "bytes_per_second":0,"rate_age_us":0,"round_trip_us":0,"corrupt_blocks":3}],
    "objects": [{"id":"ID","size":1000,"holders":[
      {"node":"n1","complete":true,"watermark":1000},
      {"node":"n2","complete":false,"watermark":250}]}],
    "transfers": [{"object":"ID","from":"n1","to":"n2","watermark":250}],
    "reductions": [{"target":"ID","slots":[
      {"slot":1,"parent":0,"parents":[],"stripes":[],"node":"n1","inputs":["ID"],"watermark":250},
      {"slot":2,"parent":1,"parents":[1],"stripes":[0,3],"node":"n2","inputs":[],"watermark":1000}]}],
    "shards": [
      {"objects":1,"inline_bytes":0,"inline_total_bytes":4096,"most_queued_bytes":0,
       "most_queued_node":"","session_queue_bytes":8192,"moves":{}},
      {"objects":2,"inline_bytes":64,"inline_total_bytes":4096,"most_queued_bytes":1024,
       "most_queued_node":"n2","session_queue_bytes":8192,
       "moves":{"slow":0,"faster":2,"lost":1}}]})");
  const std::string id = kObject.ToHex();
  std::string text = ToJson(TwoNodes()).dump();
  for (auto at = text.find(id); at != std::string::npos; at = text.find(id)) {
    text.replace(at, id.size(), "ID");
  }
  EXPECT_EQ(Json::parse(text), expected);
}

TEST(Output, StatusSaysWhyStreamsWereMoved) {
  const std::string text = ToText(TwoNodes());
  EXPECT_NE(text.find("which has most; moved 3 streams: faster 2, lost 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("nothing of 8.0 KiB waits for a node\n"), std::string::npos) << text;
}

TEST(Output, AnEmptyClusterStillHasAllLists) {
  EXPECT_EQ(ToJson(ClusterStatus{}).dump(),
            R"({"nodes":[],"objects":[],"transfers":[],"reductions":[],"shards":[]})");
}

TEST(Output, InfoSaysWhoWaitsAndWhy) {
  const Json info = ToJson(TwoNodes().objects[0]);
  EXPECT_EQ(info["waiters"].dump(), R"([{"node":"n3","why":"every holder is busy"}])");
  EXPECT_EQ(info["metadata"], "017a");
  EXPECT_EQ(info["reductions"][0]["slots"].size(), 2u);
  EXPECT_NE(ToText(TwoNodes().objects[0]).find("n3: every holder is busy"), std::string::npos);
}

TEST(Output, InfoSaysOfWhatDTypeItIs) {
  ObjectInfo object = TwoNodes().objects[0];
  EXPECT_EQ(ToJson(object)["dtype"], nullptr);
  EXPECT_NE(ToText(object).find("dtype     not noted\n"), std::string::npos);
  object.dtype = DType::kFloat32;
  EXPECT_EQ(ToJson(object)["dtype"], "float32");
  EXPECT_NE(ToText(object).find("dtype     float32\n"), std::string::npos);
}

TEST(Output, InfoSaysHowItIsReduced) {
  ObjectInfo object = TwoNodes().objects[0];
  EXPECT_NE(ToText(object).find("reduced in this tree\n    1 n1  1 source, 25 %\n"),
            std::string::npos);
  EXPECT_NE(ToText(TwoNodes()).find("    is reduced in this tree\n"), std::string::npos);
  object.slots[1].parent = 0;  // a root, too
  EXPECT_NE(ToText(object).find("reduced in this ring, in which each feeds"), std::string::npos);
}

TEST(Output, InfoOfWhatNobodyHasPutGivesNoSize) {
  const std::string text = ToText(ObjectInfo{});
  EXPECT_NE(text.find("size      not known: nobody has put it yet\n"), std::string::npos) << text;
  EXPECT_NE(text.find("owned     by nobody yet\n"), std::string::npos) << text;
}

TEST(Output, InfoSaysWhetherAnybodyOwnsIt) {
  ObjectInfo object = TwoNodes().objects[0];
  EXPECT_NE(ToText(object).find("owned     by nobody, ever: it stays"), std::string::npos);
  object.ever_owned = true;
  EXPECT_NE(ToText(object).find("owned     by nobody any more\n"), std::string::npos);
  object.owners = 2;
  EXPECT_NE(ToText(object).find("owned     by clients of 2 nodes\n"), std::string::npos);
  EXPECT_EQ(ToJson(object)["ever_owned"], true);
  EXPECT_EQ(ToJson(object)["owners"], 2);
  EXPECT_EQ(ToJson(object)["grace"], nullptr);
  object.grace = std::chrono::milliseconds(1500);
  EXPECT_NE(ToText(object).find("by clients of 2 nodes, until 1.5 s after these have died\n"),
            std::string::npos);
  EXPECT_EQ(ToJson(object)["grace"], 1.5);
  object.grace = std::chrono::milliseconds(0);
  EXPECT_NE(ToText(object).find("by clients of 2 nodes, until these have died\n"),
            std::string::npos);
}

TEST(Output, StatusSaysHowManyIdsAreOwnedAndHowMuchOneProcessHolds) {
  ClusterStatus status{.clients = {.clients = 1, .owned = 3, .max_owned = 10}};
  status.clients.most_held_bytes = 2048;
  status.clients.most_held_objects = 2;
  EXPECT_NE(ToText(status).find(
                "; 3 of 10 ids owned; of one process at most 2.0 KiB in 2 objects held\n"),
            std::string::npos)
      << ToText(status);
  status.clients.quota_bytes = 4096;
  status.clients.quota_objects = 9;
  EXPECT_NE(ToText(status).find("2.0 KiB of 4.0 KiB in 2 of 9 objects held\n"), std::string::npos)
      << ToText(status);
  EXPECT_EQ(ToJson(status)["clients"]["owned"], 3);
  EXPECT_EQ(ToJson(status)["clients"]["quota_bytes"], 4096);
}

TEST(Output, TextNamesHoldersWithTheirShare) {
  const std::string text = ToText(TwoNodes());
  EXPECT_NE(text.find("held by n1, n2 (25 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("n1 -> n2"), std::string::npos) << text;
  EXPECT_NE(text.find("link 100 Mbit/s, 90 s ago"), std::string::npos) << text;
  EXPECT_NE(text.find("3 corrupt blocks came in"), std::string::npos) << text;
  EXPECT_NE(text.find("3 objects on 2 shards: 1, 2; 64 B in the directory"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("shard 0: 0 B of 4.0 KiB for small objects and metadata; nothing of 8.0 KiB waits"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("shard 1: 64 B of 4.0 KiB for small objects and metadata; 1.0 KiB of 8.0 KiB "
                      "wait for n2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("… and 2 more"), std::string::npos) << text;
  EXPECT_NE(text.find("1 n1  1 source, 25 %\n    └─ 2 n2"), std::string::npos) << text;
}

TEST(Output, OneIsNoPlural) {
  const std::string text = ToText(ClusterStatus{
      .nodes = {{.name = "n1", .corrupt_blocks = 1}},
      .shards = {{.objects = 1}},
      .clients = {.clients = 1, .requests = 1, .pins = 2},
  });
  for (const char* count : {"1 node\n", "1 corrupt block came", "1 object\n",
                            "1 client of this node: 1 request under way", "2 pins"}) {
    EXPECT_NE(text.find(count), std::string::npos) << count << " in " << text;
  }
}

TEST(Output, ReadyEventNamesTheSocketOfNodesOnly) {
  EXPECT_EQ(ReadyEvent("directory", "", "h:1", "").dump(),
            R"({"event":"ready","role":"directory","address":"h:1"})");
  EXPECT_EQ(ReadyEvent("node", "n1", "h:2", "/s").dump(),
            R"({"event":"ready","role":"node","name":"n1","address":"h:2","socket":"/s"})");
}

}  // namespace
}  // namespace hoplite::cli
