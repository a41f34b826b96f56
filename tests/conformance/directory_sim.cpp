// SimDirectory, in the machine's time: with nothing in between, and with a network's delays.
#include <memory>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>

#include "base/clock.h"
#include "conformance/directory_under_test.h"
#include "sim/seams/sim_directory.h"

namespace hoplite::test {
namespace {

class Sim final : public DirectoryUnderTest {
 public:
  Sim(std::size_t shards, const net::LinkOptions& link)
      : network_(loop_, link, 1),
        directory_(std::make_unique<directory::SimDirectory>(loop_, network_, SettingsFor(shards))),
        thread_([this] { loop_.run(); }) {}
  // The thread ends when everything that is under way has arrived. A shard that is shut down with
  // open sessions gives them a second: so the nodes' last words may come first.
  ~Sim() override {
    asio::post(loop_, [this] {
      network_.At(Now() + std::chrono::milliseconds(20), [this] { directory_.reset(); });
    });
    work_.reset();
    thread_.join();
  }

  // Called on the loop, as a node does it.
  std::unique_ptr<directory::DirectoryClient> MakeClient(asio::io_context& loop) override {
    return directory_->MakeClient(loop, network_.AddHost(),
                                  std::make_shared<directory::SimDirectory::Access>(false));
  }
  asio::io_context* loop() override { return &loop_; }
  void Restart(std::size_t shard) override {
    asio::post(loop_, [this, shard] {
      directory_->Kill(shard);
      directory_->Return(shard);
    });
  }

 private:
  // Patient: on a busy machine a node may be silent for long.
  static directory::SimDirectory::Settings SettingsFor(std::size_t shards) {
    directory::SimDirectory::Settings settings{.service = {}, .shards = shards, .pace = {}};
    settings.service.lease = std::chrono::hours(1);
    settings.service.grace = std::chrono::hours(1);
    settings.service.planner.recovery_window = Duration(0);
    return settings;
  }

  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  net::SimNetwork network_;
  std::unique_ptr<directory::SimDirectory> directory_;
  std::thread thread_;
};

MakeDirectory Immediate() {
  return [](std::size_t shards) -> std::unique_ptr<DirectoryUnderTest> {
    return std::make_unique<Sim>(shards, net::LinkOptions::Immediate());
  };
}

MakeDirectory Delayed() {
  return [](std::size_t shards) -> std::unique_ptr<DirectoryUnderTest> {
    using std::chrono::milliseconds;
    return std::make_unique<Sim>(
        shards, net::LinkOptions{.latency = milliseconds(3), .jitter = milliseconds(3)});
  };
}

INSTANTIATE_TEST_SUITE_P(Sim, DirectoryClientTest, ::testing::Values(Immediate(), Delayed()));

}  // namespace
}  // namespace hoplite::test
