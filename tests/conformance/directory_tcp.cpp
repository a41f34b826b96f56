#include <vector>

#include "conformance/directory_under_test.h"
#include "testing/directory_cluster.h"

namespace hoplite::test {
namespace {

class Tcp final : public DirectoryUnderTest {
 public:
  explicit Tcp(std::size_t shards) : cluster_(shards) {}

  std::unique_ptr<directory::DirectoryClient> MakeClient(asio::io_context& loop) override {
    return directory::MakeTcpDirectoryClient(loop, cluster_.client_options());
  }
  void Restart(std::size_t shard) override {
    cluster_.StopShard(shard);
    cluster_.StartShard(shard);
  }

 private:
  DirectoryCluster cluster_;
};

MakeDirectory Maker() {
  return [](std::size_t shards) -> std::unique_ptr<DirectoryUnderTest> {
    return std::make_unique<Tcp>(shards);
  };
}

// Within two seconds on an idle machine, as bench/results.md says; here it must not take long.
TEST_P(DirectoryClientTest, TenThousandObjectsAreBackSoonAfterARestart) {
  const Layout layout = Layout::For(1024 * 1024);
  const auto holder = JoinedNode("holder");
  const auto reader = JoinedNode("reader");
  std::vector<protocol::NodeEvent> inventory;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    inventory.emplace_back(protocol::Held{.object = ObjectId::Random(),
                                          .version = {{.incarnation = 1, .sequence = i}},
                                          .layout = layout,
                                          .marks = layout.full_marks(),
                                          .complete = true,
                                          .primary = true});
  }
  const ObjectId first = std::get<protocol::Held>(inventory.front()).object;
  const auto last = std::get<protocol::Held>(inventory.back());
  holder->SetInventory(std::move(inventory));
  reader->SetInventory({protocol::Locate{last.object}});

  directory_->Restart(0);

  const auto located = reader->Take<protocol::Located>(last.object);
  ASSERT_TRUE(located);
  EXPECT_EQ(located->version, last.version);
  reader->Say(protocol::Want{last.object, last.version, layout.empty_marks()});
  ASSERT_TRUE(reader->Take<protocol::Grant>(last.object));
  EXPECT_TRUE(reader->Find(first));
}

INSTANTIATE_TEST_SUITE_P(Tcp, DirectoryClientTest, ::testing::Values(Maker()));

}  // namespace
}  // namespace hoplite::test
