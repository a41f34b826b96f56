// Reductions of the demo: every living node of a cluster of processes has an array, and their sum is
// made: of all of them for all of them; then of the first to come while others are late.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hoplite/client.h>

#include "base/time.h"
#include "cli/demo/arrays.h"
#include "cli/demo/screen.h"
#include "cli/demo/subject.h"
#include "cli/process_cluster.h"
#include "cli/stop_signal.h"

namespace hoplite::cli::demo {

// What is asked for.
struct Asked {
  std::size_t wanted = 0;  // how many arrays, those that come first
  std::size_t late = 0;    // those of the last nodes, so many, come while it runs, too late
  bool everyone_reads = false;
};

struct Reduced {
  Asked asked;
  std::vector<std::string> used;    // nodes whose array is in the sum
  std::vector<std::string> unused;  // nodes whose array came too late
  std::vector<SlotInfo> slots;      // as the directory last showed them
  double seconds = 0;               // from the request until all readers had the final target
  bool equal = false;               // what every reader got is the plain sum of the arrays used
};

class Reductions {
 public:
  // Takes the cluster's living nodes, whose stores are empty.
  Reductions(ProcessCluster& cluster, const Arrays& arrays, const Subject& subject, Screen& screen);

  // All of these: `cancelled` if the user wanted to stop; an error also if anything did not hold.
  // The sum of all arrays, for all nodes.
  Result<void> AllReduce(const StopSignal& stop);
  // The sum of the first to come, for the first node; those of the last `late` nodes come too late.
  Result<void> FirstToCome(std::size_t late, const StopSignal& stop);

  std::size_t node_count() const { return nodes_.size(); }
  double bound_seconds() const { return bound_seconds_; }
  const std::vector<Reduced>& results() const { return results_; }

 private:
  // A node's client, which reads the target while it is made.
  struct Reader {
    Client client;
    Future<Buffer> target;
  };

  Result<void> Run(const Asked& asked, const StopSignal& stop);
  Result<void> Put(std::size_t node, const ObjectId& id) const;
  Result<std::vector<Reader>> StartReaders(const Asked& asked, const ObjectId& target) const;
  // Waits until all of them have it.
  static Result<std::vector<Buffer>> TargetsOf(const std::vector<Reader>& readers);
  // Follows the reduction to its end, and puts the late arrays meanwhile. How its slots were at the
  // last look.
  Result<std::vector<SlotInfo>> Follow(Client& client, const Reduction& reduction,
                                       const std::vector<ObjectId>& ids, const Asked& asked,
                                       const StopSignal& stop) const;
  bool IsPlainSum(const Buffer& target, const ReduceOutcome& outcome,
                  const std::vector<ObjectId>& ids) const;
  std::string NamesFrom(std::size_t first) const;
  void SayWhatIsAsked(const Asked& asked) const;
  void SayPlan(const std::string& title, const std::vector<SlotInfo>& slots) const;
  void Say(const Reduced& reduced) const;

  std::vector<const ProcessCluster::Node*> nodes_;
  const Arrays& arrays_;
  const double bound_seconds_;  // S/B of one array
  Screen& screen_;
  std::vector<Reduced> results_;
};

}  // namespace hoplite::cli::demo
