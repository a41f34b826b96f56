#include "node/node_metrics.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/process_metrics.h"
#include "node/assembly.h"
#include "node/clients/wait_counts.h"
#include "node/local/local_clients.h"

namespace hoplite::node {
namespace {

// They take half a millisecond.
constexpr std::size_t kAtATime = 1000;

Metrics OfTransfers(const Counters& counters, const FlightGate& gate) {
  return {
      CounterOf("hoplite_received_bytes_total", "Object bytes received from other nodes",
                counters.bytes_received.load()),
      CounterOf("hoplite_sent_bytes_total", "Object bytes sent to other nodes",
                counters.bytes_sent.load()),
      CounterOf("hoplite_grants_total", "Streams that the directory granted to this node",
                counters.grants.load()),
      CounterOf("hoplite_moves_total", "Streams that the directory moved to another source",
                counters.moves.load()),
      CounterOf("hoplite_fetches_total", "FETCH messages sent, one for each connection of a stream",
                counters.fetches_started.load()),
      CounterOf("hoplite_fetches_resumed_total",
                "FETCH messages sent that continued at bytes that were there",
                counters.fetches_resumed.load()),
      CounterOf("hoplite_inline_fetches_total", "Small objects that came with an answer",
                counters.inline_fetches.load()),
      CounterOf("hoplite_gives_total", "Small objects handed on to other nodes",
                counters.gives_sent.load()),
      CounterOf("hoplite_corrupt_blocks_total", "Blocks received with a wrong checksum",
                counters.corrupt_blocks.load()),
      CounterOf("hoplite_slot_resets_total", "Slots of reductions that started again at this node",
                counters.slot_resets.load()),
      CounterOf("hoplite_sessions_ended_total", "Sessions with directory shards that ended",
                counters.sessions_ended.load()),
      HistogramOf("hoplite_fetch_seconds",
                  "Time from the directory's answer where an object is to its last byte",
                  counters.fetch_latency),
      HistogramOf("hoplite_reduce_seconds",
                  "Time of a client's successful reduction, its wait for sources included",
                  counters.reduce_latency),
      GaugeOf("hoplite_fetches_under_way", "Objects that come in now", gate.under_way()),
      GaugeOf("hoplite_fetches_limit", "Objects that may come in at a time", gate.most()),
  };
}

Metric OfMemory(const store::StoreUsage& usage, const store::StoreUse& use) {
  Metric metric{"hoplite_memory_bytes", "Memory of the object store by what it is used for",
                MetricKind::kGauge, "kind"};
  const auto add = [&metric](const char* kind, std::uint64_t bytes) {
    metric.samples.push_back({kind, static_cast<double>(bytes)});
  };
  add("made_here", use.made_here_bytes);
  add("arriving", use.arriving_bytes);
  add("pinned", use.pinned_bytes);
  add("evictable", use.evictable_bytes);
  add("unlisted", usage.used_bytes - std::min(use.listed_bytes(), usage.used_bytes));
  add("free", usage.free_bytes);
  add("not_reserved", usage.not_yet_reserved_bytes);
  return metric;
}

Metrics OfStore(const store::StoreUsage& usage, const store::StoreUse& use) {
  return {
      OfMemory(usage, use),
      GaugeOf("hoplite_memory_capacity_bytes", "Size of the object store", usage.capacity_bytes),
      GaugeOf("hoplite_copies", "Objects in the store, whole or in part", usage.copies)};
}

Metric OfWaits(const WaitCounts& counts) {
  Metric metric{"hoplite_waiting_calls", "Calls of clients that wait now, by what for",
                MetricKind::kGauge, "reason"};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    metric.samples.push_back({Name(static_cast<WaitReason>(i)), static_cast<double>(counts.at(i))});
  }
  return metric;
}

Metric OfFailures(const LocalClients& clients) {
  Metric metric{"hoplite_failed_calls_total", "Calls of clients that were answered with an error",
                MetricKind::kCounter, "code"};
  for (auto i = 1; i <= static_cast<int>(kLastErrorCode); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    metric.samples.push_back(
        {std::string(Name(code)), static_cast<double>(clients.failures(code))});
  }
  return metric;
}

Metrics OfClients(const WaitCounts& waits, const LocalClients& clients) {
  return {
      OfWaits(waits),
      OfFailures(clients),
      GaugeOf("hoplite_clients", "Clients that are attached", clients.count()),
      GaugeOf("hoplite_client_pins", "Buffers, readers, drafts and subscriptions that clients hold",
              clients.total().pins),
      GaugeOf("hoplite_client_held_bytes",
              "Memory that one process holds by what it put and reads, of the one with most",
              clients.most_held().bytes),
      GaugeOf("hoplite_client_quota_bytes", "Limit of that memory; 0: none",
              clients.limits().quota.bytes)};
}

// Without a disk none.
Metrics OfDisk(const Spiller* spiller) {
  if (spiller == nullptr) return {};
  const Spiller::Counts& counts = spiller->counts();
  return {CounterOf("hoplite_spilled_bytes_total", "Object bytes written to the disk of --spill",
                    counts.written_bytes),
          CounterOf("hoplite_spilled_objects_total", "Objects written to the disk",
                    counts.written_objects),
          CounterOf("hoplite_failed_spills_total", "Writes of objects to the disk that failed",
                    counts.failed_writes),
          CounterOf("hoplite_unreadable_objects_total",
                    "Objects that were lost here because the disk could not read them",
                    counts.lost_copies),
          GaugeOf("hoplite_disk_used_bytes", "Room that objects take on the disk",
                  spiller->used_bytes()),
          GaugeOf("hoplite_disk_limit_bytes", "Limit of that room", spiller->limit_bytes())};
}

std::size_t ShardsAway(const directory::DirectoryClient& directory) {
  std::size_t away = 0;
  for (std::size_t i = 0; i < directory.shard_count(); ++i) away += directory.connected(i) ? 0 : 1;
  return away;
}

}  // namespace

bool NodeMetrics::Look(const Assembly& node) {
  if (!all_copies_) {
    all_copies_ = !node.store.AddUse(use_, last_copy_, kAtATime);
    return true;
  }
  return AddWaits(node.table, waits_, last_entry_, kAtATime);
}

Metrics NodeMetrics::Give(Assembly& node, const LocalClients& clients) const {
  Metrics all;
  const auto add = [&all](Metrics part) {
    all.insert(all.end(), std::move_iterator(part.begin()), std::move_iterator(part.end()));
  };
  add(OfTransfers(node.counters, node.data_plane.gate()));
  add(OfStore(node.store.usage(), use_));
  add(OfDisk(node.spiller.get()));
  add(OfClients(waits_, clients));
  add({GaugeOf("hoplite_shards_away", "Directory shards without a session with this node",
               ShardsAway(*node.directory))});
  add(MetricsOf(node.inventory.Usage().process));
  return all;
}

}  // namespace hoplite::node
