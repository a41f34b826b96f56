// Reductions of the demo: every living node of a cluster of processes has an array, and the sum of
// them is made, first of all, then of the first to come while others are late.
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include <hoplite/client.h>

#include "cli/demo/arrays.h"
#include "cli/demo/screen.h"
#include "cli/process_cluster.h"
#include "cli/stop_signal.h"

namespace hoplite::cli::demo {

struct Reduced {
  std::vector<std::string> used;    // nodes whose array is in the sum
  std::vector<std::string> unused;  // nodes whose array came too late
  std::vector<SlotInfo> tree;       // as the directory last showed it
  double seconds = 0;               // from the request to the final target
  bool equal = false;               // the target is the plain sum of the arrays used
};

class Reductions {
 public:
  // Takes the cluster's living nodes.
  Reductions(ProcessCluster& cluster, const Arrays& arrays, double bound_seconds, Screen& screen);

  // The sum of the first `wanted` arrays to come; those of the last `late` nodes come while it
  // runs. `cancelled` if the user wanted to stop; an error also if anything did not hold.
  Result<void> Run(std::size_t wanted, std::size_t late, const StopSignal& stop);

  std::size_t node_count() const { return nodes_.size(); }
  const std::vector<Reduced>& results() const { return results_; }

 private:
  Result<void> Put(std::size_t node, const ObjectId& id) const;
  // Follows the reduction to its end, and puts the late arrays meanwhile.
  Result<std::vector<SlotInfo>> Follow(Client& client, const Reduction& reduction,
                                       const std::vector<ObjectId>& ids, std::size_t late,
                                       const StopSignal& stop) const;
  Result<bool> IsPlainSum(Client& client, const ReduceOutcome& outcome,
                          const std::vector<ObjectId>& ids) const;
  std::string NamesFrom(std::size_t first) const;
  void Say(const Reduced& reduced) const;

  std::vector<const ProcessCluster::Node*> nodes_;
  const Arrays& arrays_;
  const double bound_seconds_;  // S/B of one array
  Screen& screen_;
  std::vector<Reduced> results_;
};

}  // namespace hoplite::cli::demo
