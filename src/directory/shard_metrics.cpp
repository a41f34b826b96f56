#include "directory/shard_metrics.h"

#include <algorithm>

namespace hoplite::directory {
namespace {

Metric OfNodes(const std::vector<protocol::NodeView>& nodes) {
  const auto alive = std::ranges::count_if(nodes, &protocol::NodeView::alive);
  const auto all = std::ssize(nodes);
  return {"hoplite_directory_nodes",
          "Nodes that the shard knows, by whether they have a session with it",
          MetricKind::kGauge,
          "state",
          {{"alive", static_cast<double>(alive)}, {"away", static_cast<double>(all - alive)}}};
}

Metric OfSessions(const ShardTally& tally) {
  Metric metric{"hoplite_directory_sessions_ended_total", "Sessions of nodes that ended, by how",
                MetricKind::kCounter, "how"};
  for (std::size_t i = 0; i < kSessionEnds; ++i) {
    metric.samples.push_back(
        {Name(static_cast<SessionEnd>(i)), static_cast<double>(tally.ended.at(i))});
  }
  return metric;
}

Metric OfMoves(const ShardTally& tally) {
  Metric metric{"hoplite_directory_moves_total",
                "Streams that the shard moved to another source, by why", MetricKind::kCounter,
                "reason"};
  for (const protocol::MovesView& moves : tally.Moves()) {
    metric.samples.push_back({moves.reason, static_cast<double>(moves.count)});
  }
  return metric;
}

}  // namespace

Metrics MetricsOf(const ShardTally& tally, const protocol::ShardView& shard,
                  const std::vector<protocol::NodeView>& nodes) {
  return {
      GaugeOf("hoplite_directory_objects", "Objects that the shard has a record of", shard.objects),
      OfNodes(nodes),
      GaugeOf("hoplite_directory_inline_bytes",
              "Memory of the small objects and the metadata that the shard keeps",
              shard.inline_bytes),
      GaugeOf("hoplite_directory_inline_limit_bytes", "Limit of that memory",
              shard.inline_total_bytes),
      GaugeOf("hoplite_directory_queue_bytes",
              "Messages that wait for the node that lags most with taking them",
              shard.queues.most_bytes),
      GaugeOf("hoplite_directory_queue_limit_bytes",
              "Bytes of messages that may wait for one node before its requests wait",
              shard.queues.limit_bytes),
      CounterOf("hoplite_directory_grants_total", "Streams that the shard granted", tally.grants),
      OfMoves(tally),
      CounterOf("hoplite_directory_recalls_total",
                "Messages that void older versions of an object at a node", tally.recalls),
      CounterOf("hoplite_directory_slots_lost_total", "Slots of reductions that were lost",
                tally.slots_lost),
      OfSessions(tally),
      CounterOf("hoplite_directory_sessions_refused_total", "Sessions that the shard refused",
                tally.refused),
      CounterOf("hoplite_directory_nodes_lost_total",
                "Nodes that were given up, since their grace was over", tally.nodes_lost),
  };
}

}  // namespace hoplite::directory
