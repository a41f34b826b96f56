#include "sim/planner_world/broadcast.h"

#include <algorithm>

#include "base/try.h"
#include "sim/planner_world/bounds.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

// The script of one broadcast: all moments are drawn when it is written, so that one seed gives one
// history whatever the planner does.
class BroadcastHistory {
 public:
  BroadcastHistory(World& world, double plain_seconds)
      : world_(world),
        options_(world.options()),
        start_(Time{} + WarmUp(options_)),
        horizon_(options_.spread + (options_.nodes - 2) * options_.apart + options_.put_time +
                 FromSeconds(1.2 * plain_seconds) + 20 * options_.latency) {}

  Time start() const { return start_; }

  void Write() {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) world_.AddNode();
    WritePut(Time{}, kFirstContent);
    WriteReceivers();
    for (const Kill& kill : options_.kill_at) {
      world_.At(start_ + kill.at, [this, node = kill.node] { world_.Kill(node); });
    }
    for (std::uint32_t i = 0; i < options_.kills; ++i) {
      world_.At(Moment(), [this, node = Receiver()] { world_.Kill(node); });
    }
    for (std::uint32_t i = 0; i < options_.session_breaks; ++i) {
      const Duration away = world_.random().Within(2 * options_.grace);
      world_.At(Moment(), [this, node = Receiver(), away] { world_.BreakSession(node, away); });
    }
    for (std::uint32_t i = 0; i < options_.restarts; ++i) {
      world_.At(Moment(), [this] { world_.RestartDirectory(); });
    }
    for (std::uint32_t i = 0; i < options_.reputs; ++i) WriteReput(kFirstContent + 1 + i);
    for (std::uint32_t i = 0; i < options_.deletes; ++i) {
      world_.At(Moment(), [this, node = Receiver()] { world_.Delete(node); });
    }
    WriteCalls();
    world_.WriteCuts(start_, horizon_);
    if (options_.cuts > 0 || !options_.cut_pairs.empty()) {
      world_.At(start_ + horizon_ + World::kPatience, [this] { world_.GiveUpGets(); });
    }
  }

  // Once nothing moves any more: the object goes.
  void WriteDelete() {
    world_.ForgetGets();
    world_.Delete(0);
    put_from_ = world_.now() + 5 * options_.latency;
  }

  // Once the directory and all nodes have heard that: the same object, from the same node.
  void WriteAgain(Content content) {
    const Time put = std::max(put_from_, world_.now());
    start_ = put + WarmUp(options_) - 5 * options_.latency;
    WritePut(put, content);
    WriteGets();
  }

 private:
  Time Moment() { return start_ + world_.random().Within(horizon_); }
  NodeIndex Receiver() {
    return static_cast<NodeIndex>(1 + world_.random().Below(options_.nodes - 1));
  }

  // What takes no time is done before the start.
  void WritePut(Time before, Content content) {
    world_.At(options_.put_time.count() > 0 ? start_ : before,
              [this, content] { world_.Put(0, content); });
  }

  void WriteReceivers() {
    // In every other history the holder gives (R83).
    const bool joint = options_.full_link && options_.seed % 2 == 1;
    for (std::uint32_t i = 1; i < options_.nodes && joint; ++i) world_.SetJoint(i);
    WriteGets();
    for (const RateChange& change : options_.links.changes) {
      world_.At(start_ + change.at, [this, change] {
        world_.SetRate(change.node, static_cast<double>(change.bytes_per_second));
      });
    }
    for (std::uint32_t i = 0; i < options_.memory_waits; ++i) {
      world_.SetMemoryFree(Receiver(), Moment());
    }
  }

  void WriteGets() {
    for (std::uint32_t i = 1; i < options_.nodes; ++i) {
      const Duration turn = (i - 1) * options_.apart;
      world_.At(start_ + turn + world_.random().Within(options_.spread),
                [this, i] { world_.Get(i); });
    }
  }

  void WriteCalls() {
    for (std::uint32_t i = 0; i < options_.cancels; ++i) {
      const Time when = Moment();
      const NodeIndex node = Receiver();
      world_.At(when, [this, node] { world_.Cancel(node); });
      const Time again = when + world_.random().Within(10 * options_.latency);
      if (i % 2 == 0) world_.At(again, [this, node] { world_.Get(node); });
    }
    for (std::uint32_t i = 0; i < options_.evictions; ++i) {
      world_.At(Moment(), [this, node = Receiver()] { world_.Evict(node); });
    }
    for (std::uint32_t i = 0; i < options_.joins; ++i) {
      world_.At(Moment(), [this, node = Receiver()] { world_.SetJoint(node); });
    }
    for (std::uint32_t i = 0; i < options_.subscriptions; ++i) {
      world_.At(Moment(), [this, node = Receiver()] { world_.Subscribe(node); });
    }
  }

  // All nodes that have the object whole die, and a new node puts other bytes. If most nodes have
  // it, nothing happens.
  void WriteReput(Content content) {
    const Duration pause = world_.random().Within(2 * options_.grace);
    world_.At(Moment(), [this, content, pause] {
      std::vector<NodeIndex> whole;
      std::size_t alive = 0;
      for (NodeIndex i = 0; i < world_.members().size(); ++i) {
        const Member& member = world_.members()[i];
        alive += member.alive ? 1 : 0;
        const auto& copy = member.node.copy();
        if (member.alive && copy && (copy->complete || copy->produces != 0)) whole.push_back(i);
      }
      if (2 * whole.size() > alive) return;
      for (const NodeIndex i : whole) world_.Kill(i);
      const NodeIndex putter = world_.AddNode();
      world_.At(world_.now() + pause, [this, putter, content] { world_.Put(putter, content); });
    });
  }

  World& world_;
  const Options& options_;
  Time start_;
  Time put_from_{};  // of another round
  Duration horizon_;
};

// The least time in which the object can come to this receiver.
double BoundOf(const Options& options, NodeIndex receiver) {
  const UnequalLinks& links = options.links;
  std::uint64_t rate = std::min(RateOf(options, 0), RateOf(options, receiver));
  const bool crosses = SiteOf(options, 0) != SiteOf(options, receiver);
  if (crosses && links.between_per_second > 0) rate = std::min(rate, links.between_per_second);
  const Link link{options.latency, static_cast<double>(rate)};
  return BoundSeconds(options.size_bytes, link);
}

// Of a round that has ended.
void CountRound(const World& world, Report& report) {
  Round round{.moves = world.moves(), .trials = world.trials()};
  for (const Round& before : report.rounds) {
    round.moves -= before.moves;
    round.trials -= before.trials;
  }
  for (NodeIndex i = 0; i < world.members().size(); ++i) {
    const Member& member = world.members()[i];
    const auto carries = static_cast<double>(RateOf(world.options(), i));
    round.most_shown = std::max(round.most_shown, world.ShownOf(i) / carries);
    if (!member.returned) continue;
    ++round.completed;
    const double waited = ToSeconds(*member.returned - *member.asked);
    round.slowest_get_seconds = std::max(round.slowest_get_seconds, waited);
    round.stretch = std::max(round.stretch, waited / BoundOf(world.options(), i));
  }
  report.rounds.push_back(round);
}

void CountReceivers(const World& world, Time start, Report& report) {
  for (NodeIndex i = 0; i < world.members().size(); ++i) {
    const Member& member = world.members()[i];
    report.died += member.alive ? 0 : 1;
    report.deleted += member.node.told_deleted() ? 1 : 0;
    if (!member.returned) continue;
    ++report.completed;
    report.depth = std::max(report.depth, std::ranges::max(member.depths));
    const double seconds = ToSeconds(*member.returned - start);
    report.seconds = std::max(report.seconds, seconds);
    if (!IsSlow(world.options(), i)) {
      report.fast_seconds = std::max(report.fast_seconds, seconds);
    }
  }
  report.slowest_get_seconds = report.rounds.back().slowest_get_seconds;
  report.stretch = report.rounds.back().stretch;
}

}  // namespace

Result<Report> RunBroadcast(const Options& options) {
  TRY(options.Validate());
  const Link link{options.latency, static_cast<double>(options.bytes_per_second)};
  const Tree tree = BestTree(options.nodes, options.size_bytes, link);
  Report report;
  report.bound_seconds = BoundSeconds(options.size_bytes, link);
  report.line_seconds = TreeSeconds(options.nodes, options.size_bytes, link, 1);
  report.best_tree_seconds = tree.seconds;
  report.best_tree_degree = tree.degree;
  report.replay = ReplayCommand(options);

  World world(options);
  BroadcastHistory history(world, std::min(report.line_seconds, report.best_tree_seconds));
  history.Write();
  world.Run();
  CountRound(world, report);
  for (std::uint32_t round = 1; round < options.rounds && world.violation().empty(); ++round) {
    history.WriteDelete();
    world.Run();
    history.WriteAgain(kFirstContent + options.reputs + round);
    world.Run();
    CountRound(world, report);
  }

  CountReceivers(world, history.start(), report);
  report.events = world.events();
  report.digest = world.digest();
  report.moves = world.moves();
  report.trials = world.trials();
  report.bytes_sent_again = world.network().bytes_dropped();
  report.violation = world.violation();
  if (report.violation.empty()) report.violation = TooSlow(options, report.seconds);
  return report;
}

}  // namespace hoplite::sim
