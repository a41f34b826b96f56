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
  return {.nodes = {{.name = "n1",
                     .address = "127.0.0.1:1",
                     .alive = true,
                     .memory_bytes = 64,
                     .used_bytes = 10,
                     .bytes_per_second = 12'500'000,
                     .rate_age = std::chrono::seconds(90),
                     .process = {.version = "0.1.0",
                                 .resident_bytes = 2 * 1024 * 1024,
                                 .descriptors = 57,
                                 .descriptor_limit = 1024,
                                 .processor_time = std::chrono::milliseconds(12'300)}},
                    {.name = "n2", .address = "127.0.0.1:2", .corrupt_blocks = 3}},
          .objects = {object},
          .shards = {{.objects = 1,
                      .inline_total_bytes = 4096,
                      .session_queue_bytes = 8192,
                      .held_by = "h1:1",
                      .stand_by = {"h2:1", "h3:1"}},
                     {.objects = 2,
                      .inline_bytes = 64,
                      .most_queued_bytes = 1024,
                      .most_queued_node = "n2",
                      .inline_total_bytes = 4096,
                      .session_queue_bytes = 8192,
                      .moves = {{"slow", 0}, {"faster", 2}, {"lost", 1}}}}};
}

TEST(Output, StatusHasTheNamesThatScriptsRelyOn) {
  std::string expected = R"({
    "nodes": [
      {"name":"n1","address":"127.0.0.1:1","alive":true,"memory_bytes":64,"used_bytes":10,
       "bytes_per_second":12500000,"rate_age_us":90000000,"round_trip_us":0,"corrupt_blocks":0,
       "disk_bytes":0,"disk_used_bytes":0,
       "process":{"version":"0.1.0","resident_bytes":2097152,"descriptors":57,
       "descriptor_limit":1024,"processor_us":12300000}},
      {"name":"n2","address":"127.0.0.1:2","alive":false,"memory_bytes":0,"used_bytes":0,
       "bytes_per_second":0,"rate_age_us":0,"round_trip_us":0,"corrupt_blocks":3,
       "disk_bytes":0,"disk_used_bytes":0,
       NOTHING}],
    "objects": [{"id":"ID","name":"","size":1000,"holders":[
      {"node":"n1","complete":true,"watermark":1000},
      {"node":"n2","complete":false,"watermark":250}]}],
    "transfers": [{"object":"ID","from":"n1","to":"n2","watermark":250}],
    "reductions": [{"target":"ID","slots":[
      {"slot":1,"parent":0,"parents":[],"stripes":[],"node":"n1","inputs":["ID"],"watermark":250},
      {"slot":2,"parent":1,"parents":[1],"stripes":[0,3],"node":"n2","inputs":[],"watermark":1000}]}],
    "shards": [
      {"objects":1,"inline_bytes":0,"inline_total_bytes":4096,"most_queued_bytes":0,
       "most_queued_node":"","session_queue_bytes":8192,
       "held_by":"h1:1","stand_by":["h2:1","h3:1"],"silent":[],"moves":{},
       NOTHING},
      {"objects":2,"inline_bytes":64,"inline_total_bytes":4096,"most_queued_bytes":1024,
       "most_queued_node":"n2","session_queue_bytes":8192,
       "held_by":"","stand_by":[],"silent":[],
       "moves":{"slow":0,"faster":2,"lost":1},
       NOTHING}]})";
  const auto replace = [](std::string& text, const std::string& word, const std::string& by) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word)) {
      text.replace(at, word.size(), by);
    }
  };
  replace(expected, "NOTHING",
          R"("process":{"version":"","resident_bytes":0,"descriptors":0,"descriptor_limit":0,)"
          R"("processor_us":0})");
  std::string text = ToJson(TwoNodes()).dump();
  replace(text, kObject.ToHex(), "ID");
  EXPECT_EQ(Json::parse(text), Json::parse(expected));
}

TEST(Output, StatusSaysWhyStreamsWereMoved) {
  const std::string text = ToText(TwoNodes());
  EXPECT_NE(text.find("which has most; moved 3 streams: faster 2, lost 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("nothing of 8.0 KiB waits for a node\n"), std::string::npos) << text;
}

TEST(Output, StatusSaysWhoHoldsAShardWithSeveralMembers) {
  ClusterStatus status = TwoNodes();
  const std::string text = ToText(status);
  EXPECT_NE(text.find("\n  shard 0: held by h1:1; h2:1, h3:1 stand by\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("shard 1: held"), std::string::npos) << "it has one member";
  ShardStatus& shard = status.shards[0];
  shard.silent = {"h3:1"};
  shard.stand_by = {"h2:1"};
  EXPECT_EQ(MembersInWords(shard), "held by h1:1; h2:1 stands by; h3:1 is silent");
}

TEST(Output, StatusSaysWhatProcessesTake) {
  const std::string text = ToText(TwoNodes());
  EXPECT_NE(text.find("  0.1.0, process of 2.0 MiB, 57 of 1024 descriptors, 12.3 s of processor "
                      "time\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("process of 0"), std::string::npos) << "who told nothing shows nothing";
}

TEST(Output, AnObjectWithANameIsShownByIt) {
  ClusterStatus status = TwoNodes();
  status.objects[0].name = "x";
  status.objects[0].waiters[0].why = "object " + kObject.ToHex() + " lacks " + ObjectId().ToHex();
  const std::string text = ToText(status);
  EXPECT_NE(text.find("\n  name:x  1000 B, held by"), std::string::npos) << text;
  EXPECT_EQ(text.find(kObject.ToHex()), std::string::npos) << "also as a source";
  const std::string info = ToText(status.objects[0]);
  EXPECT_NE(info.find("id        " + kObject.ToHex() + "\nname      name:x\n"), std::string::npos)
      << info;
  EXPECT_NE(info.find("n3: object name:x lacks " + ObjectId().ToHex()), std::string::npos) << info;
  EXPECT_EQ(ToJson(status)["objects"][0]["name"], "x");
  EXPECT_EQ(ToJson(status.objects[0])["name"], "x");
}

TEST(Output, IdsAreFoundAsWholeWords) {
  const std::string hex = kObject.ToHex();
  EXPECT_EQ(IdsIn("a " + hex + ", " + hex + "; " + ObjectId().ToHex()),
            (std::vector<ObjectId>{kObject, ObjectId()}));
  EXPECT_TRUE(IdsIn(hex + "0").empty());
  EXPECT_TRUE(IdsIn(hex.substr(1)).empty());
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
