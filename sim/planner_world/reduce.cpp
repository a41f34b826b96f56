#include "sim/planner_world/reduce.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/try.h"
#include "planner/reduce/reduce_cost.h"
#include "sim/planner_world/bounds.h"
#include "sim/planner_world/world.h"

namespace hoplite::sim {
namespace {

ReduceOptions RequestOf(const Options& options, const ObjectId& target) {
  const ReduceJob& job = *options.reduce;
  ReduceOptions request;
  request.dtype = DType::kFloat32;
  for (std::uint32_t i = 0; i < SourcesOf(options); ++i) {
    request.sources.push_back(ObjectId::FromName(fmt::format("source {}", i)));
  }
  if (job.num_objects != 0) request.num_objects = job.num_objects;
  request.target = target;
  request.degree = job.degree;
  request.fixed_order = job.fixed_order;
  request.root_here = job.root_here;
  request.everyone_reads = job.everyone_reads;
  return request;
}

protocol::LinkModel LinkOf(const Options& options) {
  return {.latency = options.latency,
          .overhead = Duration{0},
          .bytes_per_second = static_cast<double>(SlowestLink(options))};
}

// The closed form of the tree that the options ask for; sources that share a node share its link.
double PlainSeconds(const Options& options) {
  const ReduceJob& job = *options.reduce;
  const std::uint32_t count = PicksOf(options) + (job.root_here ? 1 : 0);
  const Layout layout = Layout::For(options.size_bytes, options.stripes);
  const protocol::LinkModel link = LinkOf(options);
  std::uint32_t degree = job.fixed_order ? 1 : job.degree;
  if (degree == 0) degree = planner::BestReduceDegree(count, layout, link);
  const double shared = std::max(1.0, static_cast<double>(SourcesOf(options)) / options.nodes);
  return shared * planner::ReduceSeconds(degree, count, layout, link) + ToSeconds(options.latency);
}

// The script: all moments are drawn when it is written, so that one seed gives one history.
class ReduceHistory {
 public:
  ReduceHistory(World& world, double plain_seconds)
      : world_(world),
        options_(world.options()),
        job_(*options_.reduce),
        request_(RequestOf(options_, world.object())),
        start_(Time{} + WarmUp(options_)),
        horizon_(options_.spread + job_.straggler + job_.get_spread +
                 FromSeconds(1.2 * plain_seconds) + 20 * options_.latency) {}

  Time start() const { return start_; }

  void Write() {
    for (std::uint32_t i = 0; i < options_.nodes; ++i) world_.AddNode();
    world_.At(start_, [this] { world_.Reduce(request_, 0); });
    WriteSources();
    if (job_.everyone_gets) {
      for (NodeIndex i = 0; i < options_.nodes; ++i) {
        world_.At(AsksAt(), [this, i] { world_.Get(i); });
      }
    }
    for (const Kill& kill : options_.kill_at) {
      world_.At(start_ + kill.at, [this, node = kill.node] { Die(node); });
    }
    for (std::uint32_t i = 0; i < options_.kills; ++i) {
      world_.At(Moment(), [this, node = Participant()] { Die(node); });
    }
    if (job_.kill_coordinator) world_.At(Moment(), [this] { Die(0); });
    for (std::uint32_t i = 0; i < options_.session_breaks; ++i) {
      const Duration away = world_.random().Within(2 * options_.grace);
      const auto node = static_cast<NodeIndex>(world_.random().Below(options_.nodes));
      world_.At(Moment(), [this, node, away] { world_.BreakSession(node, away); });
    }
    for (std::uint32_t i = 0; i < options_.restarts; ++i) {
      world_.At(Moment(), [this] { world_.RestartDirectory(); });
    }
    world_.WriteCuts(start_, horizon_);
  }

 private:
  Time AsksAt() {
    const Duration spread = job_.get_spread;
    return spread.count() == 0 ? start_ : start_ + world_.random().Within(spread);
  }
  Time Moment() { return start_ + world_.random().Within(horizon_); }
  NodeIndex Participant() {
    return static_cast<NodeIndex>(1 + world_.random().Below(options_.nodes - 1));
  }

  void WriteSources() {
    const std::size_t count = request_.sources.size();
    for (std::size_t i = 0; i < count; ++i) {
      Time when = start_ + world_.random().Within(options_.spread);
      if (job_.staggered) when = start_ + options_.spread * static_cast<std::int64_t>(i) / count;
      if (options_.spread.count() == 0) when = Time{};
      if (i + 1 == count && job_.straggler.count() > 0) {
        when = std::max(when, start_) + job_.straggler;
      }
      const auto node = static_cast<NodeIndex>(i % options_.nodes);
      world_.At(when, [this, node, i] { world_.PutSource(node, request_.sources[i]); });
    }
  }

  // A dead node's sources are put again on the nodes after it.
  void Die(NodeIndex node) {
    if (!world_.members()[node].alive) return;
    const std::map<ObjectId, Version> lost = world_.members()[node].sources;
    world_.Kill(node);
    if (job_.put_again.count() == 0) return;
    for (const auto& [source, version] : lost) {
      world_.At(world_.now() + job_.put_again, [this, node, source] {
        NodeIndex next = node;
        do {
          next = (next + 1) % options_.nodes;
        } while (next != node && !world_.members()[next].alive);
        world_.PutSource(next, source);
      });
    }
  }

  World& world_;
  const Options& options_;
  const ReduceJob& job_;
  ReduceOptions request_;
  Time start_;
  Duration horizon_;
};

// P11: a fault may cost the time to notice it, the time to suspect a source, the wait for what is
// put again, and the work once more. A broadcast to everyone comes on top. A node without memory costs
// one object more over the link of the node that folds for it, which may do so for all of them.
std::string TooSlowReduce(const Options& options, double seconds) {
  const Link link{options.latency, static_cast<double>(SlowestLink(options))};
  double plain = PlainSeconds(options);
  if (options.reduce->everyone_gets || options.reduce->everyone_reads) {
    plain += std::min(TreeSeconds(options.nodes, options.size_bytes, link, 1),
                      BestTree(options.nodes, options.size_bytes, link).seconds);
  }
  plain *= NoiseFactor(options);
  const double messages = 40 * ToSeconds(options.latency);
  const double fault = ToSeconds(options.grace + options.reduce->put_again) + 3 + 3 * plain;
  const double restart = fault + ToSeconds(options.recovery_window);
  const auto faults = static_cast<double>(options.kills + options.kill_at.size() +
                                          2 * std::size_t{options.session_breaks});
  const Duration late = options.reduce->straggler + options.reduce->get_spread;
  const double slow = options.slow_nodes > 0 ? 10 * plain : 0;
  const double poor = options.reduce->poor_nodes * static_cast<double>(options.size_bytes) /
                      static_cast<double>(SlowestLink(options));
  const double cuts = CutSeconds(options, plain);
  const double allowed = 2 * plain + slow + poor + messages + ToSeconds(options.spread + late) +
                         faults * fault + options.restarts * restart + cuts + NoiseSeconds(options);
  if (seconds <= allowed) return {};
  return fmt::format("P11: took {:.6f} s where {:.6f} s are allowed", seconds, allowed);
}

void Fill(const World& world, Time start, Report& report) {
  const Reduction& reduction = *world.reduction();
  report.depth = reduction.witness.Height();
  report.degree = reduction.witness.Degree();
  report.roots = reduction.witness.Roots();
  report.committed = reduction.witness.any_commit();
  if (reduction.committed_at) report.seconds = ToSeconds(*reduction.committed_at - start);
  for (const Member& member : world.members()) {
    report.died += member.alive ? 0 : 1;
    if (!member.returned) continue;
    ++report.completed;
    report.depth =
        std::max(report.depth, std::ranges::max(member.depths) + reduction.witness.Height());
    report.seconds = std::max(report.seconds, ToSeconds(*member.returned - start));
    report.slowest_get_seconds =
        std::max(report.slowest_get_seconds, ToSeconds(*member.returned - *member.asked));
  }
}

// The time of one object over one link; if everybody gets the sum, the time of what each link has
// to carry.
double Bound(const Options& options) {
  const double nodes = options.nodes;
  const double once =
      static_cast<double>(options.size_bytes) / static_cast<double>(SlowestLink(options));
  const double hops = options.reduce->everyone_gets ? 2 : 1;
  const double times = options.reduce->everyone_gets ? 2 * (nodes - 1) / nodes : 1;
  return times * once + hops * ToSeconds(options.latency);
}

}  // namespace

Result<Report> RunReduce(const Options& options) {
  TRY(options.Validate());
  Report report;
  report.bound_seconds = Bound(options);
  const double plain = PlainSeconds(options);
  report.best_tree_seconds = plain;
  report.replay = ReplayCommand(options);

  World world(options);
  ReduceHistory history(world, plain);
  history.Write();
  world.Run();

  Fill(world, history.start(), report);
  report.events = world.events();
  report.digest = world.digest();
  report.bytes_sent_again = world.network().bytes_dropped();
  report.violation = world.violation();
  if (report.violation.empty()) report.violation = TooSlowReduce(options, report.seconds);
  return report;
}

}  // namespace hoplite::sim
