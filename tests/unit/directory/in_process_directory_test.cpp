// What failures do to nodes, with the real service and client in one process.
#include "sim/seams/in_process_directory.h"

#include <thread>

#include <asio/executor_work_guard.hpp>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "testing/directory_node.h"

namespace hoplite::directory {
namespace {

using namespace protocol;  // NOLINT(google-build-using-namespace): the events and actions spoken
using test::DirectoryNode;

const Layout kLayout = Layout::For(100'000);

class InProcessDirectoryTest : public testing::Test {
 protected:
  InProcessDirectoryTest() : thread_([this] { loop_.run(); }) {}
  ~InProcessDirectoryTest() override {
    a_.reset();
    b_.reset();
    loop_.stop();
    thread_.join();
  }

  std::unique_ptr<DirectoryNode> NewNode(int id, const std::string& name) {
    return std::make_unique<DirectoryNode>(
        NodeId(id), name, [this](asio::io_context& loop) { return directory_.MakeClient(loop); });
  }
  Version PutByA(const ObjectId& object) {
    a_->Say(Create{.object = object, .layout = kLayout});
    const auto accepted = a_->Take<CreateAccepted>(object);
    if (!accepted) return {};
    a_->Say(CopyComplete{object, accepted->version});
    return accepted->version;
  }
  bool BSeesAAlive(bool alive) {
    return b_->WaitFor([&] {
      const auto status = b_->Status(0);
      for (const NodeView& node : status->nodes) {
        if (node.node.name == "a") return node.alive == alive;
      }
      return false;
    });
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  InProcessDirectory directory_{loop_};
  std::thread thread_;
  std::unique_ptr<DirectoryNode> a_ = NewNode(1, "a");
  std::unique_ptr<DirectoryNode> b_ = NewNode(2, "b");
};

TEST_F(InProcessDirectoryTest, ASuspendedNodeComesBackWithItsInventory) {
  a_->Join();
  b_->Join();
  const ObjectId object = ObjectId::Random();
  const Version version = PutByA(object);
  a_->SetInventory({Held{.object = object,
                         .version = version,
                         .layout = kLayout,
                         .marks = kLayout.full_marks(),
                         .complete = true,
                         .primary = true}});
  directory_.Cut(NodeId{1});
  ASSERT_TRUE(BSeesAAlive(false));
  directory_.Reconnect(NodeId{1});
  ASSERT_TRUE(BSeesAAlive(true));
  ASSERT_TRUE(a_->WaitUntilConnected());
  b_->Say(Locate{object});
  const auto located = b_->Take<Located>(object);
  ASSERT_TRUE(located);
  EXPECT_EQ(located->version, version);
  EXPECT_TRUE(a_->refusals().empty());  // it came back within its grace
}

TEST_F(InProcessDirectoryTest, ALostNodeIsNamedToWaitersAndTold) {
  a_->Join();
  b_->Join();
  const ObjectId object = ObjectId::Random();
  const Version version = PutByA(object);
  b_->Say(Locate{object});
  ASSERT_TRUE(b_->Take<Located>(object));
  b_->Say(Want{object, version, kLayout.empty_marks()});
  const auto grant = b_->Take<Grant>(object);
  ASSERT_TRUE(grant);

  directory_.Lose(NodeId{1});
  b_->Say(GrantClosed{object, version, grant->grant, Outcome::kFailed, Failure::kBroken,
                      kLayout.empty_marks()});
  const auto lost = b_->Take<HolderLost>(object);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->loss.node_name, "a");

  directory_.Reconnect(NodeId{1});
  ASSERT_TRUE(a_->WaitFor([&] { return !a_->losses().empty(); }));
  ASSERT_TRUE(a_->WaitUntilConnected());
  EXPECT_EQ(a_->inventories().size(), 2u);
  EXPECT_TRUE(a_->outlived().empty());  // away for less than Deletes are remembered
}

TEST_F(InProcessDirectoryTest, ANewcomerTakesTheNameOfASuspendedNode) {
  a_->Join();
  b_->Join();
  directory_.Cut(NodeId{1});
  ASSERT_TRUE(BSeesAAlive(false));
  const auto newcomer = NewNode(3, "a");
  newcomer->Join();
  const auto status = b_->Status(0);
  ASSERT_TRUE(status);
  ASSERT_EQ(status->nodes.size(), 2u);  // the old one is lost at once
  EXPECT_TRUE(BSeesAAlive(true));
}

// Its copies could be of objects whose Delete all others have forgotten.
TEST(InProcessDirectory, ANodeThatOutlivedItsTombstonesIsToldBeforeItsInventoryIsAsked) {
  asio::io_context loop;
  auto options = InProcessDirectory::Patient();
  options.service.planner.tombstone = std::chrono::milliseconds(1);
  InProcessDirectory directory(loop, options);
  const auto client = directory.MakeClient(loop);
  std::vector<std::string> told;
  client->Start({NodeId{1}, "a", "127.0.0.1:1"},
                {.on_action = [](const auto&) {},
                 .inventory =
                     [&](std::size_t, const auto&, std::size_t, const auto&) {
                       told.emplace_back("inventory");
                       return DirectoryClient::Part();
                     },
                 .on_lost = [&](std::size_t) { told.emplace_back("lost"); },
                 .on_outlived = [&](std::size_t) { told.emplace_back("outlived"); }});
  const auto turn_until = [&](std::size_t count) {
    const Time deadline = Now() + test::kPatience;
    while (told.size() < count && Now() < deadline) loop.run_one_for(test::kPatience);
  };
  turn_until(1);
  directory.Lose(NodeId{1});
  loop.run_for(std::chrono::milliseconds(5));
  directory.Reconnect(NodeId{1});
  turn_until(4);
  EXPECT_EQ(told, (std::vector<std::string>{"inventory", "outlived", "lost", "inventory"}));
  client->Stop();
}

}  // namespace
}  // namespace hoplite::directory
