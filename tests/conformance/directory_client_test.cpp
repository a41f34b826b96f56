// Every DirectoryClient must pass this: what a node says reaches the right shard, the answers reach
// the right node, and a shard that comes back learns everything again.
#include <set>
#include <string>

#include "conformance/directory_under_test.h"

namespace hoplite::test {

using namespace protocol;  // NOLINT(google-build-using-namespace): the events and actions spoken

std::unique_ptr<DirectoryNode> DirectoryClientTest::NewNode(const std::string& name) {
  return std::make_unique<DirectoryNode>(
      NodeId(++nodes_), name,
      [this](asio::io_context& loop) { return directory_->MakeClient(loop); }, directory_->loop());
}

std::unique_ptr<DirectoryNode> DirectoryClientTest::JoinedNode(const std::string& name) {
  auto node = NewNode(name);
  node->Join();
  return node;
}

namespace {

const Layout kLayout = Layout::For(1024 * 1024);

Create CreateOf(const ObjectId& object) {
  return {.object = object, .layout = kLayout, .metadata = "f4[512,512]"};
}

// Puts the object by `node`: its version.
Version PutBy(DirectoryNode& node, const ObjectId& object) {
  node.Say(CreateOf(object));
  const auto accepted = node.Take<CreateAccepted>(object);
  if (!accepted) return {};
  node.Say(CopyComplete{object, accepted->version});
  return accepted->version;
}

Held HeldCopy(const ObjectId& object, Version version) {
  return {.object = object,
          .version = version,
          .layout = kLayout,
          .metadata = "f4[512,512]",
          .marks = kLayout.full_marks(),
          .complete = true,
          .primary = true};
}

TEST_P(DirectoryClientTest, AnObjectIsFoundGrantedAndHeldByItsReceiver) {
  const auto putter = JoinedNode("putter");
  const auto receiver = JoinedNode("receiver");
  const ObjectId object = ObjectId::Random();
  const Version version = PutBy(*putter, object);
  ASSERT_TRUE(version);

  receiver->Say(Locate{object});
  const auto located = receiver->Take<Located>(object);
  ASSERT_TRUE(located);
  EXPECT_EQ(located->version, version);
  EXPECT_EQ(located->layout, kLayout);
  EXPECT_EQ(located->metadata, "f4[512,512]");

  receiver->Say(Want{object, version, kLayout.empty_marks()});
  const auto grant = receiver->Take<Grant>(object);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->version, version);
  EXPECT_EQ(grant->source.id, putter->info().id);
  EXPECT_EQ(grant->source.address, putter->info().address);
  EXPECT_EQ(grant->stripes, kLayout.all_stripes());

  receiver->Say(CopyComplete{object, version});
  receiver->Say(GrantClosed{
      .object = object, .version = version, .grant = grant->grant, .marks = kLayout.full_marks()});
  EXPECT_TRUE(receiver->Sees(object, [](const ObjectView& view) {
    return view.holders.size() == 2 && view.holders[0].complete && view.holders[1].complete &&
           view.transfers.empty();
  }));
}

TEST_P(DirectoryClientTest, ALocateWaitsForItsObject) {
  const auto reader = JoinedNode("reader");
  const auto putter = JoinedNode("putter");
  const ObjectId object = ObjectId::Random();
  reader->Say(Locate{object});
  ASSERT_TRUE(putter->Sees(object, [](const ObjectView& view) {
    return view.waiters.size() == 1 && view.waiters[0].node_name == "reader";
  }));
  const Version version = PutBy(*putter, object);
  const auto located = reader->Take<Located>(object);
  ASSERT_TRUE(located);
  EXPECT_EQ(located->version, version);
}

TEST_P(DirectoryClientTest, ASecondCreateIsRefused) {
  const auto first = JoinedNode("first");
  const auto second = JoinedNode("second");
  const ObjectId object = ObjectId::Random();
  ASSERT_TRUE(PutBy(*first, object));
  second->Say(CreateOf(object));
  const auto refused = second->Take<CreateRefused>(object);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, ErrorCode::kAlreadyExists);
  EXPECT_FALSE(refused->message.empty());
}

TEST_P(DirectoryClientTest, ADeleteReachesHoldersAndBlocksTheId) {
  const auto putter = JoinedNode("putter");
  const auto other = JoinedNode("other");
  const ObjectId object = ObjectId::Random();
  ASSERT_TRUE(PutBy(*putter, object));
  other->Say(Delete{object});
  ASSERT_TRUE(other->Take<Deleted>(object));
  const auto deleted = putter->Take<Deleted>(object);
  ASSERT_TRUE(deleted);
  EXPECT_GT(deleted->remaining, std::chrono::seconds(1));
  other->Say(Locate{object});
  EXPECT_TRUE(other->Take<Deleted>(object));
}

TEST_P(DirectoryClientTest, ASubscriberHearsOfLocations) {
  const auto subscriber = JoinedNode("subscriber");
  const auto putter = JoinedNode("putter");
  const ObjectId object = ObjectId::Random();
  subscriber->Say(Subscribe{object});
  const Version version = PutBy(*putter, object);
  for (int i = 0; i < 2; ++i) {  // partial, then complete
    const auto location = subscriber->Take<Location>(object);
    ASSERT_TRUE(location);
    EXPECT_EQ(location->node, putter->info().id);
    EXPECT_EQ(location->node_name, "putter");
    EXPECT_EQ(location->version, version);
    if (location->kind == LocationKind::kComplete) return;
  }
  FAIL() << "never complete";
}

TEST_P(DirectoryClientTest, SmallObjectsTravelInline) {
  const auto putter = JoinedNode("putter");
  const auto reader = JoinedNode("reader");
  std::string bytes(1000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  for (const std::string& content : {bytes, std::string()}) {
    const ObjectId object = ObjectId::Random();
    putter->Say(Create{.object = object,
                       .layout = Layout::For(content.size()),
                       .metadata = "m",
                       .inline_bytes = std::make_shared<const std::string>(content)});
    ASSERT_TRUE(putter->Take<CreateAccepted>(object));
    reader->Say(Locate{object});
    const auto found = reader->Take<InlineObject>(object);
    ASSERT_TRUE(found);
    ASSERT_TRUE(found->bytes);
    EXPECT_EQ(*found->bytes, content);
    EXPECT_EQ(found->metadata, "m");
  }
}

TEST_P(DirectoryClientTest, ARestartedShardLearnsFromInventories) {
  const auto holder = JoinedNode("holder");
  const auto reader = JoinedNode("reader");
  const ObjectId object = ObjectId::Random();
  const ObjectId missing = ObjectId::Random();
  const Version version = PutBy(*holder, object);
  holder->SetInventory({HeldCopy(object, version)});
  reader->SetInventory({Locate{object}, Locate{missing}});

  const auto life = [&] { return holder->Run([&] { return holder->client().life(0); }); };
  const auto before = life();
  directory_->Restart(0);

  // The reader asks again with its inventory, not with a new request.
  const auto located = reader->Take<Located>(object);
  ASSERT_TRUE(located);
  EXPECT_EQ(located->version, version);
  EXPECT_EQ(located->layout, kLayout);
  EXPECT_TRUE(holder->Sees(object, [](const ObjectView& view) {
    return view.holders.size() == 1 && view.holders[0].complete;
  }));
  EXPECT_TRUE(holder->WaitUntilConnected());
  EXPECT_TRUE(before);
  EXPECT_GT(life(), before);
  EXPECT_GE(holder->inventories().size(), 2u);
  // A version given now is newer than all before.
  const Version later = PutBy(*holder, missing);
  EXPECT_GT(later, version);
  EXPECT_TRUE(reader->Take<Located>(missing));
  EXPECT_TRUE(holder->refusals().empty());
}

TEST_P(DirectoryClientTest, WhatIsSaidOnceTheSessionIsOpenComesAfterTheInventory) {
  const ObjectId object = ObjectId::Random();
  const auto holder = NewNode("holder");
  const Version version{{.incarnation = 1, .sequence = 5}};
  holder->SetInventory({HeldCopy(object, version)});
  holder->Join();
  holder->Say(EvictAsk{object, version});
  const auto answer = holder->Take<EvictAnswer>(object);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->drop);  // the last complete copy, which the inventory told of
}

TEST_P(DirectoryClientTest, EachObjectLivesOnItsShard) {
  constexpr std::size_t kShards = 3;
  UseShards(kShards);
  const auto putter = JoinedNode("putter");
  const auto reader = JoinedNode("reader");
  ASSERT_EQ(putter->client().shard_count(), kShards);
  std::vector<std::size_t> objects(kShards, 0);
  for (int i = 0; i < 12; ++i) {
    const ObjectId object = ObjectId::Random();
    ++objects[directory::ShardOf(object, kShards)];
    ASSERT_TRUE(PutBy(*putter, object));
    reader->Say(Locate{object});
    ASSERT_TRUE(reader->Take<Located>(object));
    EXPECT_TRUE(reader->Find(object));
  }
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    const auto status = reader->Status(shard);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(status->nodes.size(), 2u);
    EXPECT_EQ(status->page.objects.size(), objects[shard]);
  }
}

TEST_P(DirectoryClientTest, AShardsPictureComesInPages) {
  const auto node = JoinedNode("node");
  std::set<ObjectId> put;
  for (int i = 0; i < 5; ++i) {
    const ObjectId object = *put.insert(ObjectId::Random()).first;
    ASSERT_TRUE(PutBy(*node, object));
  }
  std::vector<ObjectId> shown;
  protocol::PageRequest request{.limit = 2};
  for (bool more = true; more;) {
    const auto status = node->Status(0, request);
    ASSERT_TRUE(status) << status.error().ToString();
    EXPECT_EQ(status->nodes.size(), request.after ? 0u : 1u);
    EXPECT_EQ(status->shard.objects, put.size());
    ASSERT_LE(status->page.objects.size(), 2u);
    for (const auto& object : status->page.objects) shown.push_back(object.object);
    more = status->page.more;
    request.after = shown.back();
  }
  EXPECT_EQ(shown, std::vector<ObjectId>(put.begin(), put.end()));
}

TEST_P(DirectoryClientTest, OnlyTheRestartedShardAsksForItsInventory) {
  UseShards(2);
  const auto node = JoinedNode("node");
  directory_->Restart(1);
  ASSERT_TRUE(node->WaitFor([&] { return node->inventories().size() == 3; }));
  EXPECT_EQ(node->inventories().back(), 1u);
  EXPECT_TRUE(node->WaitUntilConnected());
}

TEST_P(DirectoryClientTest, AnUnknownObjectIsNotFound) {
  const auto node = JoinedNode("node");
  const auto view = node->Find(ObjectId::FromName("nothing"));
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::kNotFound);
  EXPECT_NE(view.error().message.find(ObjectId::FromName("nothing").ToHex()), std::string::npos);
}

TEST_P(DirectoryClientTest, ADeletedObjectIsShownAsDeletedAlsoWhereSomebodyListens) {
  const auto node = JoinedNode("node");
  const ObjectId deleted = ObjectId::FromName("deleted");
  for (const bool listens : {false, true}) {
    if (listens) node->Say(Subscribe{deleted});
    node->Say(Delete{deleted});
    ASSERT_TRUE(node->Take<Deleted>(deleted));
    const auto view = node->Find(deleted);
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code, ErrorCode::kDeleted);
    EXPECT_NE(view.error().message.find(deleted.ToHex() + " was deleted; its id is blocked for"),
              std::string::npos)
        << view.error().message;
  }
}

TEST_P(DirectoryClientTest, NothingIsCalledAfterStop) {
  const auto node = JoinedNode("node");
  const ObjectId object = ObjectId::Random();
  bool cancelled = false;
  node->Run([&] {
    node->client().Send(Subscribe{object});
    node->client().Send(CreateOf(object));
    node->client().Find(object, kPatience, [&](const Result<ObjectView>& result) {
      cancelled = !result && result.error().code == ErrorCode::kCancelled;
    });
    node->client().Stop();
  });
  EXPECT_TRUE(cancelled);
  const std::size_t actions = node->action_count();
  const auto other = JoinedNode("other");  // the directory has surely answered by then
  EXPECT_TRUE(PutBy(*other, ObjectId::Random()));
  node->Run([] {});
  EXPECT_EQ(node->action_count(), actions);
}

}  // namespace
}  // namespace hoplite::test
