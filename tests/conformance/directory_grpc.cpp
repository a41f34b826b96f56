#include "conformance/directory_under_test.h"
#include "testing/directory_cluster.h"

namespace hoplite::test {
namespace {

class Grpc final : public DirectoryUnderTest {
 public:
  explicit Grpc(std::size_t shards) : cluster_(shards) {}

  std::unique_ptr<directory::DirectoryClient> MakeClient(asio::io_context& loop) override {
    return directory::MakeGrpcDirectoryClient(loop, cluster_.client_options());
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
    return std::make_unique<Grpc>(shards);
  };
}

INSTANTIATE_TEST_SUITE_P(Grpc, DirectoryClientTest, ::testing::Values(Maker()));

}  // namespace
}  // namespace hoplite::test
