// One directory shard as its nodes see it: a real one on loopback, in this process, so
// that the service and those who ask share the processor.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <asio/io_context.hpp>
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "base/check.h"
#include "base/units.h"
#include "directory/directory_server.h"
#include "directory/tcp_directory_client.h"

namespace hoplite::directory {
namespace {

constexpr std::size_t kObjects = 1000;

ObjectId NumberedId(std::size_t number) {
  return ObjectId::FromName("object-" + std::to_string(number));
}

// Each session has a descriptor at both ends.
void AllowSessions(std::size_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 2 * count + 256);
  HOPLITE_CHECK(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "descriptors for the benchmark");
}

// A node that announces objects and some that ask for them, all on the benchmark's own thread.
class Shard {
 public:
  explicit Shard(std::size_t askers = 1) {
    AllowSessions(askers);
    server_ = StartServer();
    holder_ = Join("holder", NodeId(1), accepted_);
    for (std::size_t i = 0; i < askers; ++i) {
      askers_.push_back(Join("asker-" + std::to_string(i), NodeId(2 + i), located_));
    }
    RunUntil([this] {
      return holder_->connected(0) &&
             std::ranges::all_of(askers_, [](const auto& asker) { return asker->connected(0); });
    });
    for (std::size_t number = 0; number < kObjects; ++number)
      holder_->Send(protocol::Create{NumberedId(number), Layout::For(1_MiB), "", nullptr});
    RunUntil([this] { return accepted_ == kObjects; });
  }
  ~Shard() {
    holder_->Stop();
    for (const auto& asker : askers_) asker->Stop();
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Asks for so many objects at once, each by the next node, and waits for all answers.
  void Locate(std::size_t count) {
    located_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      askers_[i % askers_.size()]->Send(protocol::Locate{NumberedId(next_++ % kObjects)});
    }
    RunUntil([this, count] { return located_ == count; });
  }

 private:
  static std::unique_ptr<DirectoryServer> StartServer() {
    DirectoryServerOptions options;
    options.listen = "127.0.0.1:0";
    options.recovery_window = std::chrono::milliseconds(0);
    auto server = DirectoryServer::Start(options);
    HOPLITE_CHECK(server.has_value(), "a directory for the benchmark");
    return std::move(*server);
  }

  // `answers` counts what the shard tells this node.
  std::unique_ptr<DirectoryClient> Join(const std::string& name, NodeId id, std::size_t& answers) {
    TcpDirectoryOptions options;
    options.shards = {server_->address()};
    auto client = MakeTcpDirectoryClient(loop_, std::move(options));
    DirectoryClient::Hooks hooks;
    hooks.on_action = [&answers](const protocol::NodeAction&) { ++answers; };
    hooks.inventory = [](auto&&...) { return DirectoryClient::Part(); };
    client->Start({id, name, name + ":1"}, std::move(hooks));
    return client;
  }

  void RunUntil(const std::function<bool()>& done) {
    while (!done()) loop_.run_one();
  }

  asio::io_context loop_{1};
  std::size_t accepted_ = 0;
  std::size_t located_ = 0;
  std::size_t next_ = 0;
  std::unique_ptr<DirectoryServer> server_;
  std::unique_ptr<DirectoryClient> holder_;
  std::vector<std::unique_ptr<DirectoryClient>> askers_;
};

// Location operations, so many under way at a time; the client batches those that wait for a write.
void Locations(benchmark::State& state) {
  Shard shard;
  const auto batch = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) shard.Locate(batch);
  state.counters["locations_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(batch),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(Locations)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// The same where each is of another node.
void LocationsOfManyNodes(benchmark::State& state) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  Shard shard(nodes);
  for (auto _ : state) shard.Locate(nodes);
  state.counters["locations_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(nodes),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(LocationsOfManyNodes)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

// One lookup at a time: from the question to the answer on the node's loop.
void OneLookup(benchmark::State& state) {
  Shard shard;
  std::vector<double> times;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    shard.Locate(1);
    times.push_back(ToSeconds(std::chrono::steady_clock::now() - begin));
  }
  std::ranges::sort(times);
  state.counters["p50_seconds"] = times[times.size() / 2];
  state.counters["p99_seconds"] = times[times.size() * 99 / 100];
}
BENCHMARK(OneLookup)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hoplite::directory
