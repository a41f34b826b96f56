#include <thread>

#include <asio/executor_work_guard.hpp>

#include "conformance/directory_under_test.h"
#include "sim/seams/in_process_directory.h"

namespace hoplite::test {
namespace {

class InProcess final : public DirectoryUnderTest {
 public:
  explicit InProcess(std::size_t shards)
      : directory_(loop_, OptionsFor(shards)), thread_([this] { loop_.run(); }) {}
  ~InProcess() override {
    work_.reset();
    loop_.stop();
    thread_.join();
  }

  std::unique_ptr<directory::DirectoryClient> MakeClient(asio::io_context& loop) override {
    return directory_.MakeClient(loop);
  }
  void Restart(std::size_t shard) override { directory_.Restart(shard); }

 private:
  static directory::InProcessDirectory::Options OptionsFor(std::size_t shards) {
    auto options = directory::InProcessDirectory::Patient();
    options.shards = shards;
    return options;
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  directory::InProcessDirectory directory_;
  std::thread thread_;
};

MakeDirectory Maker() {
  return [](std::size_t shards) -> std::unique_ptr<DirectoryUnderTest> {
    return std::make_unique<InProcess>(shards);
  };
}

INSTANTIATE_TEST_SUITE_P(InProcess, DirectoryClientTest, ::testing::Values(Maker()));

}  // namespace
}  // namespace hoplite::test
