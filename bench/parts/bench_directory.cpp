// What a directory shard answers: lookups a second when nodes ask in batches, and how long a single
// one takes; by the planner alone, through the service in one process, and over gRPC.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/log.h"
#include "directory/directory_server.h"
#include "directory/grpc_directory_client.h"
#include "directory/in_process_directory.h"
#include "planner/directory_state.h"

namespace hoplite::directory {
namespace {

using namespace planner;  // NOLINT(google-build-using-namespace): the events and actions spoken

constexpr std::size_t kObjects = 1000;

std::vector<ObjectId> Objects() {
  std::vector<ObjectId> objects;
  for (std::size_t i = 0; i < kObjects; ++i) {
    objects.push_back(ObjectId::FromName("object " + std::to_string(i)));
  }
  return objects;
}

Create CreateOf(const ObjectId& object) {
  return {.object = object, .layout = Layout::For(1'000'000), .metadata = "f4[250,1000]"};
}

// A shard on a thread of its own, reached without gRPC.
class InProcess {
 public:
  std::unique_ptr<DirectoryClient> MakeClient(asio::io_context& loop) {
    return directory_.MakeClient(loop);
  }
  ~InProcess() {
    loop_.stop();
    thread_.join();
  }

 private:
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  InProcessDirectory directory_{loop_};
  std::thread thread_{[this] { loop_.run(); }};
};

// A shard behind its server on the loopback.
class Grpc {
 public:
  std::unique_ptr<DirectoryClient> MakeClient(asio::io_context& loop) {
    return MakeGrpcDirectoryClient(loop, {.shards = {server_->address()}});
  }

 private:
  std::unique_ptr<DirectoryServer> server_ = *DirectoryServer::Start(
      {.listen = "127.0.0.1:0", .lease = std::chrono::seconds(30), .recovery_window = Duration(0)});
};

// Nodes on the benchmark's own thread; counts what they are told.
template <typename Shard>
class Cluster {
 public:
  explicit Cluster(std::size_t nodes) {
    log::SetLevel(log::Level::kError);
    for (std::size_t node = 1; node <= nodes; ++node) Join(node);
    for (const ObjectId& object : objects_) {
      clients_.front()->Send(CreateOf(object));
    }
    RunUntilAnswered(kObjects);
  }
  ~Cluster() {
    for (const auto& client : clients_) client->Stop();
  }

  void Locate(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      for (const auto& client : clients_) client->Send(planner::Locate{objects_[i]});
    }
    RunUntilAnswered(count * clients_.size());
  }

 private:
  void Join(std::size_t node) {
    const std::string name = "n" + std::to_string(node);
    clients_.push_back(shard_.MakeClient(loop_));
    clients_.back()->Start({NodeId(node), name, "127.0.0.1:" + std::to_string(node)},
                           {.on_action = [this](const NodeAction&) { ++answers_; },
                            .inventory = [](std::size_t) { return std::vector<NodeEvent>(); }});
    while (!clients_.back()->connected(0)) loop_.run_one();
  }
  void RunUntilAnswered(std::size_t count) {
    while (answers_ < count) loop_.run_one();
    HOPLITE_CHECK(answers_ == count, "one answer for each question");
    answers_ = 0;
  }

  const std::vector<ObjectId> objects_ = Objects();
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  Shard shard_;
  std::vector<std::unique_ptr<DirectoryClient>> clients_;
  std::size_t answers_ = 0;
};

void PlannerLookups(benchmark::State& state) {
  DirectoryOptions options;
  options.recovery_window = Duration(0);
  const Time now{};
  DirectoryState shard(options, now);
  const std::vector<ObjectId> objects = Objects();
  std::vector<Action> actions;
  shard.Apply({now, NodeJoined{{NodeId{1}, "n1", "127.0.0.1:1"}}});
  shard.Apply({now, NodeSaid{NodeId{1}, InventoryEnd{}}});
  for (const ObjectId& object : objects) {
    shard.Apply({now, NodeSaid{NodeId{1}, CreateOf(object)}});
  }
  shard.Plan(now, actions);
  for (auto _ : state) {
    actions.clear();
    for (const ObjectId& object : objects) {
      shard.Apply({now, NodeSaid{NodeId{1}, planner::Locate{object}}});
    }
    shard.Plan(now, actions);
    HOPLITE_CHECK(actions.size() == kObjects, "one answer for each question");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kObjects));
}
BENCHMARK(PlannerLookups)->UseRealTime();

template <typename Shard>
void BatchedLookups(benchmark::State& state) {
  const auto nodes = static_cast<std::size_t>(state.range(0));
  Cluster<Shard> cluster(nodes);
  for (auto _ : state) cluster.Locate(kObjects);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(nodes * kObjects));
}
BENCHMARK(BatchedLookups<InProcess>)->ArgName("nodes")->Arg(1)->Arg(4)->UseRealTime();
BENCHMARK(BatchedLookups<Grpc>)->ArgName("nodes")->Arg(1)->Arg(4)->UseRealTime();

double Microseconds(std::vector<Duration>& sorted, double quantile) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return ToSeconds(sorted[static_cast<std::size_t>(last * quantile)]) * 1e6;
}

template <typename Shard>
void OneLookup(benchmark::State& state) {
  Cluster<Shard> cluster(1);
  std::vector<Duration> times;
  for (auto _ : state) {
    const Time start = SteadyClock().Now();
    cluster.Locate(1);
    times.push_back(SteadyClock().Now() - start);
  }
  std::ranges::sort(times);
  state.counters["p50_us"] = Microseconds(times, 0.5);
  state.counters["p99_us"] = Microseconds(times, 0.99);
}
BENCHMARK(OneLookup<InProcess>)->UseRealTime();
BENCHMARK(OneLookup<Grpc>)->UseRealTime();

}  // namespace
}  // namespace hoplite::directory
