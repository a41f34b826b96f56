// The directory's decisions without network or threads: what one shard's planner costs per event.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/units.h"
#include "planner/reduce/reduce_planner.h"
#include "planner/reduce/reduce_tree.h"
#include "planner/shard/directory_state.h"

namespace hoplite::planner {
namespace {

DirectoryOptions NewCluster() {
  DirectoryOptions options;
  options.recovery_window = Duration(0);
  return options;
}

// A shard and its nodes, which answer each action at once as a real node would in the end.
class Cluster {
 public:
  explicit Cluster(std::uint64_t nodes) : state_(NewCluster(), now_) {
    for (std::uint64_t node = 1; node <= nodes; ++node) {
      const std::string name = "n" + std::to_string(node);
      Apply(NodeJoined{{NodeId(node), name, name + ":7000"}, 0});
      Say(NodeId(node), InventoryEnd{});
    }
  }

  void Say(NodeId node, NodeEvent event) { Apply(NodeSaid{node, std::move(event)}); }

  // Plans and answers until neither the shard nor a node has anything to say.
  void Settle() {
    do {
      Answer();
      actions_.clear();
      state_.Plan(now_, actions_);
    } while (!actions_.empty());
  }

  void Pass(Duration time) { now_ += time; }
  const std::vector<Action>& Plan() {
    actions_.clear();
    state_.Plan(now_, actions_);
    return actions_;
  }
  std::int64_t events() const { return events_; }

 private:
  void Apply(EventBody body) {
    state_.Apply({now_, std::move(body)});
    ++events_;
  }

  void Answer() {
    for (const Action& action : actions_) {
      if (const auto* located = std::get_if<Located>(&action.body)) {
        Say(action.to, Want{located->object, located->version, located->layout.empty_marks()});
        layout_ = located->layout;
      } else if (const auto* grant = std::get_if<Grant>(&action.body)) {
        Say(action.to, CopyComplete{grant->object, grant->version});
        Say(action.to, GrantClosed{grant->object, grant->version, grant->grant, Outcome::kDone,
                                   Failure::kNone, layout_.full_marks()});
      }
    }
  }

  Time now_{};
  DirectoryState state_;
  std::vector<Action> actions_;
  Layout layout_;
  std::int64_t events_ = 0;
};

// One object to so many receivers, from the first question to the last completion.
void Broadcast(benchmark::State& state) {
  const auto receivers = static_cast<std::uint64_t>(state.range(0));
  std::int64_t events = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Cluster cluster(receivers + 1);
    const ObjectId object = ObjectId::FromName("broadcast");
    const std::int64_t before = cluster.events();
    state.ResumeTiming();
    cluster.Say(NodeId(1), Create{object, Layout::For(16_MiB), "", nullptr});
    for (std::uint64_t node = 2; node <= receivers + 1; ++node)
      cluster.Say(NodeId(node), Locate{object});
    cluster.Settle();
    events += cluster.events() - before;
  }
  state.counters["events_per_second"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(Broadcast)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

// A small object with its bytes, asked for by another node: created, located, answered, deleted.
void CreateAndLocate(benchmark::State& state) {
  const auto listed = static_cast<std::uint64_t>(state.range(0));
  Cluster cluster(2);
  const auto bytes = std::make_shared<const std::string>(1_KiB, 'x');
  const auto id = [](std::uint64_t number) {
    return ObjectId::FromName("object-" + std::to_string(number));
  };
  const auto create = [&](std::uint64_t number) {
    cluster.Say(NodeId(1), Create{id(number), Layout::For(1_KiB), "", bytes});
  };
  std::uint64_t next = 0;
  for (; next < listed; ++next) create(next);
  cluster.Plan();
  for (auto _ : state) {
    create(next);
    cluster.Say(NodeId(2), Locate{id(next)});
    benchmark::DoNotOptimize(cluster.Plan().data());
    cluster.Say(NodeId(1), Delete{id(next - listed)});
    benchmark::DoNotOptimize(cluster.Plan().data());
    cluster.Pass(std::chrono::milliseconds(1));  // tombstones of long ago are forgotten
    ++next;
  }
  state.counters["events_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 3, benchmark::Counter::kIsRate);
}
BENCHMARK(CreateAndLocate)->Arg(100)->Arg(10000);

// A coordinator that hears of so many sources, one on each node, and orders their slots.
void PlanReduce(benchmark::State& state) {
  const auto count = static_cast<std::uint64_t>(state.range(0));
  ReduceOptions options;
  options.dtype = DType::kFloat32;
  options.target = ObjectId::FromName("target");
  for (std::uint64_t i = 0; i < count; ++i) {
    options.sources.push_back(ObjectId::FromName("source-" + std::to_string(i)));
  }
  const Layout layout = Layout::For(16_MiB);
  std::vector<NodeEvent> orders;
  for (auto _ : state) {
    ReducePlanner planner(options, NodeId(1), 1);
    planner.OnOpened(LinkModel());
    for (std::uint64_t i = 0; i < count; ++i) {
      planner.OnHolder(options.sources[i], NodeId(i + 1), Version{{1, i + 1}}, layout, "", Time());
      planner.Plan(Time(), orders);
    }
    benchmark::DoNotOptimize(orders.data());
    orders.clear();
  }
  state.counters["sources_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(count),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(PlanReduce)->Arg(10)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

// The shard's part: each order is numbered and passed on to its participant and its parent.
void OrderReduce(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const std::vector<TreeSlot> tree = ReduceTree(count, 2);
  std::vector<ObjectId> sources;
  for (std::uint32_t slot = 1; slot <= count; ++slot) {
    sources.push_back(ObjectId::FromName("source-" + std::to_string(slot)));
  }
  for (auto _ : state) {
    state.PauseTiming();
    Cluster cluster(count);
    const ObjectId target = ObjectId::FromName("target");
    cluster.Say(NodeId(1), ReduceOpen{target, 1});
    cluster.Plan();
    cluster.Say(NodeId(1), ReduceShape{target, 1, Layout::For(16_MiB), Fold(), ""});
    state.ResumeTiming();
    for (std::uint32_t slot = 1; slot <= count; ++slot) {
      const TreeSlot& place = tree[slot - 1];
      cluster.Say(NodeId(1),
                  protocol::OneOrder(target, 1, slot,
                                     {.slot = slot,
                                      .parents = place.parents(),
                                      .stripes = Layout::For(16_MiB).all_stripes(),
                                      .children = place.children,
                                      .node = NodeId(slot),
                                      .inputs = {{sources[slot - 1], Version{{1, slot}}}}}));
    }
    // Each node is told its order, and each order but the root's is told to the parent.
    if (cluster.Plan().size() != 2 * count - 1)
      state.SkipWithError("not every order was passed on");
  }
  state.counters["orders_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(count),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(OrderReduce)->Arg(10)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hoplite::planner
